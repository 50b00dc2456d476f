"""
Admission of updates to claims and storage classes: immutable fields and volume expansion.

Messages are those of kube-apiserver.
"""

from typing import Any, Final

from virtshape.api.fielderror import FieldError
from virtshape.api.model import JsonObject
from virtshape.api.quantity import Quantity
from virtshape.api.validation.violation import forbidden_value, invalid_object_error
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.auth.authorization import forbidden_object_error
from virtshape.apiserver.resource import read_tree
from virtshape.apiserver.route import Route
from virtshape.store.record import Key
from virtshape.store.store import Store

_CLASSES: Final = "storageclasses.storage.k8s.io"
_IMMUTABLE_FIELDS: Final = ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")
_DEFAULTS: Final = {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}
_IMMUTABLE: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


class ClaimAdmission:
    """Rejects invalid updates to claims and storage classes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def admit(
        self, operation: str, route: Route, user: User, new: JsonObject | None, old: JsonObject | None, *, dry_run: bool
    ) -> tuple[JsonObject | None, list[str]]:
        """Raise StatusError if an update changes immutable fields or resizes a claim in a way that is not allowed."""
        del user, dry_run
        if operation != "UPDATE" or new is None or old is None or route.subresource:
            return new, []
        causes: list[FieldError] = []
        match route.kind.group, route.kind.kind:
            case "", "PersistentVolumeClaim":
                causes = check_claim(new, old)
                if not causes and requests_expansion(new, old):
                    self._validate_growth(route, old)
            case "storage.k8s.io", "StorageClass":
                causes = check_class(new, old)
        if causes:
            raise invalid_object_error(route.kind, route.name, causes)
        return new, []

    def _validate_growth(self, route: Route, claim: JsonObject) -> None:
        name = (claim.get("spec") or {}).get("storageClassName") or ""
        record = self._store.get(Key(_CLASSES, "", name))
        if record is None or not read_tree(record.value).get("allowVolumeExpansion"):
            message = (
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
                "support resize"
            )
            raise forbidden_object_error("", "persistentvolumeclaims", route.name, message)


def check_claim(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Return the problems with a claim update: changed immutable fields, or a request below the capacity."""
    before, after = old.get("spec") or {}, new.get("spec") or {}
    if _fixed(after, before) != _fixed(before, before):
        return [forbidden_value("spec", _IMMUTABLE)]
    given = ((old.get("status") or {}).get("capacity") or {}).get("storage")
    asked = find_request(new)
    if asked is not None and given is not None and find_request(old) != asked and asked.amount < Quantity(given).amount:
        return [forbidden_value("spec.resources.requests.storage", "field can not be less than status.capacity")]
    return []


def _fixed(spec: JsonObject, before: JsonObject) -> JsonObject:
    """Return the immutable fields of a spec; the mode, volume name and class are mutable while unset in `before`."""
    open_ = {name for name in ("volumeMode", "volumeName", "storageClassName") if before.get(name) is None}
    movable = {"resources", "volumeAttributesClassName", *open_}
    return {name: value for name, value in spec.items() if name not in movable}


def requests_expansion(new: JsonObject, old: JsonObject) -> bool:
    """Return True if an update to a bound claim requests a larger volume."""
    before, after = find_request(old), find_request(new)
    bound = (old.get("status") or {}).get("phase") == "Bound"
    return bound and before is not None and after is not None and after.amount > before.amount


def find_request(claim: JsonObject) -> Quantity | None:
    """Return the size that a claim requests, or None if it requests no size."""
    stated: Any = (((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}).get("storage")
    return Quantity(stated) if stated is not None else None


def check_class(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Return a problem for each immutable field that an update to a storage class changes."""
    changed = [name for name in _IMMUTABLE_FIELDS if _read(new, name) != _read(old, name)]
    return [forbidden_value(name, f"updates to {name} are forbidden.") for name in changed]


def _read(tree: JsonObject, name: str) -> Any:
    return tree.get(name) or _DEFAULTS.get(name)

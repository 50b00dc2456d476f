"""
Admission by resource quotas: reject claims, DataVolumes and snapshots that exceed a quota of their namespace.

Messages are those of kube-apiserver. Objects that were admitted but not stored yet also count, so that concurrent
requests cannot exceed a quota.
"""

import time
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from virtshape.api.codec import decode, from_tree
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.quota import ResourceQuota
from virtshape.api.fielderror import FieldError
from virtshape.api.model import JsonObject
from virtshape.api.quantity import Quantity
from virtshape.api.storage import StorageClass
from virtshape.api.validation.violation import invalid_object_error, invalid_value
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.auth.authorization import forbidden_object_error
from virtshape.apiserver.resource import read_tree
from virtshape.apiserver.route import Route
from virtshape.engine.claims import find_default_class
from virtshape.engine.quotas import (
    COUNTED,
    Usage,
    add_usage,
    count_of,
    find_excess,
    is_counted,
    list_limits,
    measure_claim,
)
from virtshape.store.record import Event, Key
from virtshape.store.store import Store

_CLAIMS: Final = "persistentvolumeclaims"
_QUOTAS: Final = "resourcequotas"
_CLASSES: Final = "storageclasses.storage.k8s.io"
PENDING_SECONDS: Final = 10.0
"""How long an admitted object that is not stored yet counts; after this time, its write is assumed to have failed."""
_KNOWN: Final = frozenset(
    {
        *("cpu", "memory", "ephemeral-storage", "pods", "services", "replicationcontrollers", "resourcequotas"),
        *("secrets", "configmaps", "persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
        *("requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage"),
        *("limits.cpu", "limits.memory", "limits.ephemeral-storage"),
    }
)


class _Pending(Struct, frozen=True):
    """The usage of an admitted object, and the time until which it counts."""

    usage: Usage
    until: float


class QuotaAdmission:
    """Rejects objects that would exceed a quota, and invalid quotas."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._pending: dict[Key, _Pending] = {}
        store.observe(self._see)

    async def admit(
        self, operation: str, route: Route, user: User, new: JsonObject | None, old: JsonObject | None, *, dry_run: bool
    ) -> tuple[JsonObject | None, list[str]]:
        """Check an object against the quotas of its namespace; validate the object if it is itself a quota."""
        del user
        if new is None or operation == "DELETE" or route.subresource:
            return new, []
        if route.resource == _QUOTAS:
            return new, check_quota(route, new)
        if route.resource in COUNTED:
            self._require_quota(route, new, old, dry_run=dry_run)
        return new, []

    def _require_quota(self, route: Route, new: JsonObject, old: JsonObject | None, *, dry_run: bool) -> None:
        quotas = [decode(one.value, ResourceQuota) for one in self._store.list(_QUOTAS, route.namespace).records]
        quotas = [one for one in quotas if list_limits(one)]
        if not quotas:
            return
        measure = self._get_measure(route.resource)
        wanted, before = measure(new), measure(old) if old is not None else {}
        more = {name: amount - before.get(name, 0) for name, amount in wanted.items()}
        if not any(amount > 0 for amount in more.values()):
            return
        name = new["metadata"]["name"]
        key = Key(route.resource, route.namespace, name)
        used = add_usage([*self._list_usage(key, measure), before])
        for quota in quotas:
            if excess := find_excess(quota, used, more):
                raise forbidden_object_error(route.kind.group, route.kind.plural, name, excess)
        if not dry_run:
            self._pending[key] = _Pending(wanted, self._clock() + PENDING_SECONDS)

    def _get_measure(self, resource: str) -> Callable[[JsonObject], Usage]:
        """Return the function that measures how much of a quota an object of this resource uses."""
        if resource != _CLAIMS:
            return lambda _: {count_of(resource): 1}
        default = self._find_default_class()
        return lambda tree: measure_claim(from_tree(tree, PersistentVolumeClaim), default)

    def _list_usage(self, excluded: Key, measure: Callable[[JsonObject], Usage]) -> Iterator[Usage]:
        """Yield the usage of all other objects, stored or pending, with the resource and namespace of `excluded`."""
        now, scope = self._clock(), (excluded.resource, excluded.namespace)
        self._pending = {key: one for key, one in self._pending.items() if one.until > now}
        pending = {
            key: one for key, one in self._pending.items() if (key.resource, key.namespace) == scope and key != excluded
        }
        yield from (one.usage for one in pending.values())
        for record in self._store.list(*scope).records:
            if record.key != excluded and record.key not in pending:
                yield measure(read_tree(record.value))

    def _find_default_class(self) -> str:
        classes = [decode(one.value, StorageClass) for one in self._store.list(_CLASSES).records]
        found = find_default_class(classes)
        return (found.metadata.name if found is not None else None) or ""

    def _see(self, event: Event) -> None:
        if event.key.resource in COUNTED:
            self._pending.pop(event.key, None)


def check_quota(route: Route, new: JsonObject) -> list[str]:
    """Raise StatusError if a quota has invalid limits; return a warning for each limit that is not enforced."""
    hard = (new.get("spec") or {}).get("hard") or {}
    causes: list[FieldError] = []
    for resource, text in hard.items():
        field = f"spec.hard[{resource}]"
        if "/" not in resource and resource not in _KNOWN and not resource.startswith(("requests.", "hugepages-")):
            causes.append(invalid_value(field, resource, "must be a standard resource type or fully qualified"))
        elif Quantity(text).amount < 0:
            causes.append(invalid_value(field, str(text), "must be greater than or equal to 0"))
    if causes:
        raise invalid_object_error(route.kind, new["metadata"]["name"], causes)
    return [
        f"spec.hard[{resource}] is not enforced: only claims, DataVolumes and snapshots are counted"
        for resource in hard
        if not is_counted(resource)
    ]

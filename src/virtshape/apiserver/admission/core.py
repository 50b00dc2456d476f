"""Built-in admission: require existing namespaces, reject changes to immutable fields, set defaults for core kinds."""

from base64 import b64encode

from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.violation import forbidden_value, invalid_object_error, invalid_value
from virtshape.api.wellknown import NAMESPACE_NAME_LABEL
from virtshape.apiserver.admission.verdicts import VerdictCounters
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.objectmetadata import metadata_of
from virtshape.apiserver.resource import read_tree
from virtshape.apiserver.route import Route
from virtshape.apiserver.validation.configdata import check_config_data
from virtshape.apiserver.writing import Admission
from virtshape.store.record import Key
from virtshape.store.store import Store

SERVICE_WARNING = "this server stores Services but routes no traffic to them: use virtctl port-forward instead"
_PERMANENT = frozenset({"default", "kube-system", "kube-public"})


class Chain:
    """Runs admission steps in order, and counts verdicts; each step gets the object that the previous step returned."""

    def __init__(self, *links: Admission) -> None:
        self._links = links
        self.verdicts = VerdictCounters("admit")

    async def admit(
        self, operation: str, route: Route, user: User, new: JsonObject | None, old: JsonObject | None, *, dry_run: bool
    ) -> tuple[JsonObject | None, list[str]]:
        """Run all steps; return the resulting object and the warnings of all steps."""
        warnings: list[str] = []
        try:
            for link in self._links:
                new, more = await link.admit(operation, route, user, new, old, dry_run=dry_run)
                warnings += more
        except StatusError as error:
            self.verdicts.count_denied(operation, route.kind, error)
            raise
        self.verdicts.count_allowed(operation, route.kind)
        return new, warnings


class BasicAdmission:
    """Defaults and checks that are built into kube-apiserver, for namespaces and other core kinds."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def admit(
        self, operation: str, route: Route, user: User, new: JsonObject | None, old: JsonObject | None, *, dry_run: bool
    ) -> tuple[JsonObject | None, list[str]]:
        """Set defaults and check the namespace and fields of an object; reject the deletion of permanent namespaces."""
        del user, dry_run
        if new is not None:
            if operation == "CREATE" and route.namespace:
                self._require_namespace(route, new)
            completed = complete(route, new)
            causes = check_unchanged(route.kind, completed, old) if old is not None else []
            causes += check_config_data(route.kind, completed)
            if causes:
                raise invalid_object_error(route.kind, completed["metadata"]["name"], causes)
            return completed, list_warnings(operation, route.kind)
        if route.kind.kind == "Namespace" and route.name in _PERMANENT:
            message = f'namespaces "{route.name}" is forbidden: this namespace may not be deleted'
            raise StatusError(403, "Forbidden", message).about("", "namespaces", route.name)
        return new, []

    def _require_namespace(self, route: Route, new: JsonObject) -> None:
        record = self._store.get(Key("namespaces", "", route.namespace))
        if record is None:
            error = StatusError(404, "NotFound", f'namespaces "{route.namespace}" not found')
            raise error.about("", "namespaces", route.namespace)
        if b'"deletionTimestamp"' in record.value and metadata_of(read_tree(record.value)).get("deletionTimestamp"):
            name = new["metadata"]["name"]
            reason = f"unable to create new content in namespace {route.namespace} because it is being terminated"
            cause = FieldError(
                "metadata.namespace", f"namespace {route.namespace} is being terminated", "NamespaceTerminating"
            )
            message = f'{route.resource} "{name}" is forbidden: {reason}'
            raise StatusError(403, "Forbidden", message, [cause]).about(route.kind.group, route.kind.plural, name)


def list_warnings(operation: str, kind: Kind) -> list[str]:
    """Return warnings about kinds that this server stores without acting on them."""
    if (operation, kind.group, kind.kind) == ("CREATE", "", "Service"):
        return [SERVICE_WARNING]
    return []


def check_unchanged(kind: Kind, new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Return the problems with an update: changed immutable fields of revisions, secrets and config maps."""
    match kind.group, kind.kind:
        case "apps", "ControllerRevision":
            changed = ["data"] if new.get("data") != old.get("data") else []
            return [FieldError(field, "Invalid value: field is immutable") for field in changed]
        case "", "Secret" if new.get("type") != old.get("type") and not old.get("immutable"):
            return [invalid_value("type", new.get("type"), "field is immutable")]
        case "", "ConfigMap" | "Secret" if old.get("immutable"):
            fields = ("immutable", "data", "binaryData")
            message = "field is immutable when `immutable` is set"
            return [forbidden_value(field, message) for field in fields if new.get(field) != old.get(field)]
        case _:
            return []


def complete(route: Route, new: JsonObject) -> JsonObject:
    """Return the object as it is stored: with its kind's defaults, without empty data, with `stringData` encoded."""
    match route.kind.group, route.kind.kind:
        case "", "Namespace":
            metadata = new["metadata"]
            labels = {**(metadata.get("labels") or {}), NAMESPACE_NAME_LABEL: metadata["name"]}
            return {**new, "metadata": {**metadata, "labels": labels}}
        case "", "ConfigMap":
            return _without_empty(new)
        case "", "Secret":
            return _without_empty(_encode_texts({"type": "Opaque", **new}))
        case _:
            return new


def _without_empty(tree: JsonObject) -> JsonObject:
    """Return the object without empty `data` and `binaryData`."""
    empty = [field for field in ("data", "binaryData") if field in tree and not tree[field]]
    return {field: value for field, value in tree.items() if field not in empty} if empty else tree


def _encode_texts(secret: JsonObject) -> JsonObject:
    """Return a secret with `stringData` encoded into `data`."""
    texts = secret.get("stringData")
    if texts is None:
        return secret
    data = {name: b64encode(text.encode()).decode() for name, text in texts.items()}
    kept = {field: value for field, value in secret.items() if field != "stringData"}
    return {**kept, "data": {**(secret.get("data") or {}), **data}} if data else kept

"""
Validation of object metadata on create and update, including fields that an update cannot change.

Messages are those of Kubernetes. Only `drop_repeated_owners` modifies its argument.
"""

from collections.abc import Iterator
from typing import Final

from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind, is_custom_resource
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.names import (
    check_label_value,
    check_qualified_name,
    generate_name,
    get_name_check,
    mask_prefix,
)
from virtshape.api.validation.violation import (
    forbidden_value,
    invalid_value,
    required_value,
    show_value,
    too_long_value,
)

MAX_ANNOTATION_BYTES: Final = 256 * 1024
ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
STANDARD_FINALIZERS: Final = frozenset({"kubernetes", ORPHAN, FOREGROUND})

_IMMUTABLE: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_BLIND_UPDATES_REFUSED: Final = frozenset({"apiextensions.k8s.io", "coordination.k8s.io"})


def validate_address(metadata: JsonObject, *, name: str = "", namespace: str = "") -> None:
    """Raise StatusError if metadata does not match the request path; an empty `name` or `namespace` is not compared."""
    stated = metadata.get("name") or ""
    if name and not stated:
        message = f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        raise StatusError(400, "BadRequest", message)
    if name and stated != name:
        message = f"the name of the object ({stated}) does not match the name on the URL ({name})"
        raise StatusError(400, "BadRequest", message)
    if namespace and metadata.get("namespace") not in (None, "", namespace):
        message = "the namespace of the provided object does not match the namespace sent on the request"
        raise StatusError(400, "BadRequest", message)


def check_created(metadata: JsonObject, kind: Kind) -> list[FieldError]:
    """Return the problems in a new object's metadata; if the name is to be generated, generate it first."""
    causes = list(_check_name(metadata, kind))
    causes += _check_content(metadata, {})
    causes += _check_finalizers(metadata, {}, kind)
    return causes


def check_submitted(metadata: JsonObject, kind: Kind) -> list[FieldError]:
    """Return problems in a new object's metadata as the client wrote it, before a name is generated."""
    if metadata.get("generateName") and not metadata.get("name"):
        metadata = {**metadata, "name": generate_name(metadata["generateName"])}
    return check_created(metadata, kind)


def check_updated(metadata: JsonObject, old: JsonObject, kind: Kind) -> list[FieldError]:
    """Return the problems in the metadata of an update; pass the result of `restore_metadata`."""
    content = list(_check_content(metadata, old))
    changed = [*_check_new_finalizers(metadata, old), *_check_immutable(metadata, old), *content]
    result = [*content, *_check_finalizers(metadata, old, kind)]
    # Kubernetes validates the change twice and, for built-in kinds, the result twice, and reports all problems.
    again = [] if is_custom_resource(kind) else result
    return [*result, *again, *changed, *changed]


def restore_metadata(metadata: JsonObject, old: JsonObject) -> JsonObject:
    """Return the metadata of an update, with fields that only the server sets restored from the old object."""
    restored = {**metadata, "uid": metadata.get("uid") or old.get("uid")}
    for field in ("namespace", "creationTimestamp", "generation"):
        restored[field] = old.get(field)
    if old.get("deletionTimestamp"):
        restored["deletionTimestamp"] = old["deletionTimestamp"]
    if metadata.get("deletionGracePeriodSeconds") is None:
        restored["deletionGracePeriodSeconds"] = old.get("deletionGracePeriodSeconds")
    restored["selfLink"] = None
    return {field: value for field, value in restored.items() if value is not None}


def allows_blind_update(kind: Kind) -> bool:
    """Return True if an update may omit the resourceVersion."""
    return not is_custom_resource(kind) and kind.group not in _BLIND_UPDATES_REFUSED


def find_finalizer_warnings(metadata: JsonObject, old: JsonObject, kind: Kind) -> list[str]:
    """Return warnings for new finalizers without a domain in custom resources; in built-in kinds, they are errors."""
    if not metadata.get("finalizers"):
        return []
    added = set(metadata["finalizers"]) - set(old.get("finalizers") or ())
    advice = "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
    return [
        f"metadata.finalizers: {show_value(finalizer)}: {advice}"
        for finalizer in sorted(added)
        if is_custom_resource(kind) and not _is_qualified(finalizer)
    ]


def drop_repeated_owners(metadata: JsonObject) -> list[str]:
    """Remove duplicate owner references from the metadata, and return a warning if there were any."""
    owners = metadata.get("ownerReferences")
    if not owners or len({owner.get("uid") for owner in owners}) == len(owners):
        return []
    kept: dict[str, JsonObject] = {}
    repeated = []
    for owner in owners:
        identity = show_value(owner)
        if identity in kept:
            repeated.append(str(owner.get("uid", "")))
        else:
            kept[identity] = owner
    if not repeated:
        return []
    metadata["ownerReferences"] = list(kept.values())
    advice = "API server dedups owner references in 1.20+, and may reject such requests as early as 1.24"
    message = f"{advice}; please fix your requests; duplicate UID(s) observed: {', '.join(repeated)}"
    return [f".metadata.ownerReferences contains duplicate entries; {message}"]


def _is_qualified(finalizer: str) -> bool:
    return "/" in finalizer or finalizer in STANDARD_FINALIZERS


def _check_name(metadata: JsonObject, kind: Kind) -> Iterator[FieldError]:
    check = get_name_check(kind)
    prefix = metadata.get("generateName") or ""
    if prefix:
        for problem in check(mask_prefix(prefix)):
            yield invalid_value("metadata.generateName", prefix, problem)
    name = metadata.get("name") or ""
    if not name:
        yield required_value("metadata.name", "name or generateName is required")
        return
    for problem in check(name):
        yield invalid_value("metadata.name", name, problem)


def _check_content(metadata: JsonObject, old: JsonObject) -> Iterator[FieldError]:
    """Yield problems in changed fields; unchanged fields were checked before."""
    labels = metadata.get("labels")
    if labels and labels != old.get("labels"):
        yield from _check_labels(labels)
    annotations = metadata.get("annotations")
    if annotations and annotations != old.get("annotations"):
        yield from _check_annotations(annotations)
    owners = metadata.get("ownerReferences")
    if owners and owners != old.get("ownerReferences"):
        yield from _check_owners(owners)


def _check_labels(labels: dict[str, str]) -> Iterator[FieldError]:
    for key, value in labels.items():
        for problem in check_qualified_name(key):
            yield invalid_value("metadata.labels", key, problem)
        for problem in check_label_value(value):
            yield invalid_value("metadata.labels", value, problem)


def _check_annotations(annotations: dict[str, str]) -> Iterator[FieldError]:
    size = 0
    for key, value in annotations.items():
        for problem in check_qualified_name(key.lower()):
            yield invalid_value("metadata.annotations", key, problem)
        size += len(key.encode()) + len(value.encode())
    if size > MAX_ANNOTATION_BYTES:
        yield too_long_value("metadata.annotations", MAX_ANNOTATION_BYTES)


def _check_owners(owners: list[JsonObject]) -> Iterator[FieldError]:
    field = "metadata.ownerReferences"
    controller = ""
    for index, owner in enumerate(owners):
        for part in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(part):
                yield required_value(f"{field}[{index}].{part}", "must not be empty")
        version = owner.get("apiVersion") or "v1"
        if version.count("/") > 1 or version.endswith("/"):
            message = "must be <group>/<version> or <version>"
            yield invalid_value(f"{field}[{index}].apiVersion", version, message)
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            yield invalid_value(f"{field}[{index}]", owner, "/v1, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            name = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                found = f'Found "true" in references for {controller} and {name}'
                # Report this problem only once, because its message already shows all owners.
                yield invalid_value(field, owners, f"Only one reference can have Controller set to true. {found}")
                return
            controller = name


def _check_finalizers(metadata: JsonObject, old: JsonObject, kind: Kind) -> Iterator[FieldError]:
    finalizers = metadata.get("finalizers") or []
    before = old.get("finalizers") or []
    if not finalizers or finalizers == before:
        return
    field = "metadata.finalizers"
    known = set(before)
    for index, finalizer in enumerate(finalizers):
        for problem in check_qualified_name(finalizer):
            yield invalid_value(field, finalizer, problem)
        if not is_custom_resource(kind) and not _is_qualified(finalizer) and finalizer not in known:
            message = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid_value(f"{field}[{index}]", finalizer, message)
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        yield invalid_value(field, finalizers, f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set")


def _check_new_finalizers(metadata: JsonObject, old: JsonObject) -> Iterator[FieldError]:
    if not old.get("deletionTimestamp"):
        return
    added = sorted(set(metadata.get("finalizers") or ()) - set(old.get("finalizers") or ()))
    if added:
        found = ", ".join(map(show_value, added))
        message = (
            f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{found}}}"
        )
        yield forbidden_value("metadata.finalizers", message)


def _check_immutable(metadata: JsonObject, old: JsonObject) -> Iterator[FieldError]:
    for field in _IMMUTABLE:
        if metadata.get(field) != old.get(field):
            yield invalid_value(f"metadata.{field}", metadata.get(field), "field is immutable")

"""Check the kind, version, schema and metadata of single documents, before their objects are evaluated."""

import copy
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.diagnosis import MAX_PROBLEMS, find_kind_problems, walk
from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import KINDS, Kind, find_kind, is_custom_resource
from virtshape.api.model import JsonObject, Model
from virtshape.api.problems import DecodeError
from virtshape.api.validation.constraints import check_constraints
from virtshape.api.validation.metadata import check_submitted
from virtshape.api.validation.normalize import NO_FIELD
from virtshape.api.validation.schema import check_schema, read_exactly
from virtshape.resolve.reference import Reference

DEPRECATED_VERSIONS: Final = {
    "kubevirt.io/v1alpha3": "kubevirt.io/v1",
    "instancetype.kubevirt.io/v1alpha1": "instancetype.kubevirt.io/v1beta1",
    "instancetype.kubevirt.io/v1alpha2": "instancetype.kubevirt.io/v1beta1",
}
"""Deprecated API versions and their replacements."""

_OWN_GROUPS: Final = {"kubevirt.io", "instancetype.kubevirt.io", "flavor.kubevirt.io", "cdi.kubevirt.io"}
_FOREIGN_KINDS: Final = {
    "VirtualMachineInstanceMigration",
    "VirtualMachineInstancePreset",
    "VirtualMachineInstanceReplicaSet",
    "CDI",
    "CDIConfig",
    "DataImportCron",
    "ObjectTransfer",
    "StorageProfile",
    "VolumeCloneSource",
    "VolumeImportSource",
    "VolumeUploadSource",
}
_CHECKED_KINDS: Final = {"VirtualMachine", "VirtualMachineInstance", "KubeVirt", "DataVolume", "DataSource"}
_SIZING_GROUPS: Final = {"instancetype.kubevirt.io", "flavor.kubevirt.io"}
_REASONS: Final = {
    "FieldValueDuplicate": "duplicate-name",
    "FieldValueNotSupported": "unsupported-value",
    "FieldValueRequired": "missing-field",
    "FieldValueTypeInvalid": "wrong-type",
}
"""Maps the reason of a schema error to the lint rule."""


class DecodedObject(NamedTuple):
    """The object without its invalid fields (None if it cannot be decoded), its tree, and errors for these fields."""

    object: Model | None
    tree: JsonObject
    issues: list[FieldError]

    def concerns(self, field: str) -> bool:
        """Return True if the field, one of its parents or one of its children has an error."""
        return any(_is_within(field, each.field) or _is_within(each.field, field) for each in self.issues)


def _is_within(field: str, other: str) -> bool:
    return field == other or (field.startswith(other) and field[len(other)] in ".[")


def find_stated_kind(tree: Any) -> Kind | None:
    """Return the kind that a document states, or None if it is unknown."""
    if not isinstance(tree, dict):
        return None
    api_version, kind = tree.get("apiVersion"), tree.get("kind")
    return find_kind(api_version, kind) if isinstance(api_version, str) and isinstance(kind, str) else None


def is_checked(kind: Kind) -> bool:
    """Return True if objects of this kind are fully checked, so that an unknown field is an error."""
    return kind.group in _SIZING_GROUPS or (kind.kind in _CHECKED_KINDS and kind.group in _OWN_GROUPS)


def check_kind(tree: Any, *, is_named: bool) -> Iterator[FieldError]:
    """Check a document with an unknown kind; `is_named` is True if the file was named on the command line."""
    if not isinstance(tree, dict) or "kind" not in tree or "apiVersion" not in tree:
        if is_named:
            yield FieldError("", "not a Kubernetes object: apiVersion or kind is missing", rule="not-an-object")
        return
    group, name = str(tree["apiVersion"]).rpartition("/")[0], str(tree["kind"])
    is_ours = group in _OWN_GROUPS and name not in _FOREIGN_KINDS
    if is_ours or any(kind.kind == name and kind.group in _OWN_GROUPS for kind in KINDS):
        for problem in find_kind_problems(tree):
            yield FieldError(problem.field, problem.message, rule="unknown-kind")


def decode_leniently(tree: JsonObject, kind: Kind) -> DecodedObject:
    """Decode a tree and check its schema as the server does; if it is invalid, decode it without the invalid fields."""
    try:
        found = read_exactly(tree, kind)
    except (msgspec.ValidationError, RecursionError):
        return _decode_invalid(tree, kind)
    if not is_custom_resource(kind):
        return DecodedObject(found, tree, [])
    return DecodedObject(found, tree, list(map(_add_rule, check_constraints(tree, kind, []))))


def _decode_invalid(tree: JsonObject, kind: Kind) -> DecodedObject:
    normalized, unknown, causes, misfits = check_schema(tree, kind)
    explained = {problem.field: problem for _, problem in islice(walk(tree, kind.struct), MAX_PROBLEMS)}
    issues = {path: FieldError(path, f'unknown field "{path}"', rule="unknown-field") for path in unknown}
    issues |= {cause.field: _add_rule(cause) for cause in reversed(causes) if cause.field != NO_FIELD}
    if misfits:
        mistyped = [field for field in explained if field.startswith("metadata")] or ["metadata"]
        issues |= {field: FieldError(field, misfits[0], rule="wrong-type") for field in mistyped}
    for field, issue in issues.items():
        problem = explained.get(field)
        if problem is not None and issue.reason != "FieldValueDuplicate":
            issues[field] = problem
    if not issues:
        return DecodedObject(from_tree(normalized, kind.struct), normalized, [])
    found = _decode_valid_part(normalized, kind.struct)
    return DecodedObject(found, to_tree(found) if found is not None else normalized, list(issues.values()))


def _add_rule(cause: FieldError) -> FieldError:
    return cause._replace(rule=_REASONS.get(cause.reason, "invalid-value"))


def _decode_valid_part(tree: JsonObject, struct: type[Model]) -> Model | None:
    """Return the object without its invalid fields, or None if it cannot be decoded without them."""
    rest = copy.deepcopy(tree)
    for at, _ in walk(tree, struct):
        if not at or not isinstance(at[-1], str):
            return None
        parent: Any = rest
        for step in at[:-1]:
            parent = parent[step]
        parent.pop(at[-1], None)
    try:
        return from_tree(rest, struct)
    except DecodeError:
        return None


def reference_of_tree(tree: JsonObject, kind: Kind) -> Reference:
    """Return the reference to the object in a tree; the namespace defaults to `default`."""
    metadata = tree.get("metadata")
    names: JsonObject = metadata if isinstance(metadata, dict) else {}
    namespace = str(names.get("namespace") or "default") if kind.namespaced else ""
    return Reference(kind.group, kind.kind, namespace, str(names.get("name") or ""))


def check_version(tree: JsonObject) -> Iterator[FieldError]:
    """Yield an error if the API version of an object is deprecated."""
    api_version = tree["apiVersion"]
    if api_version in DEPRECATED_VERSIONS:
        message = f"{api_version} is deprecated: use {DEPRECATED_VERSIONS[api_version]}"
        yield FieldError("apiVersion", message, rule="deprecated-version")


def check_metadata(tree: JsonObject, kind: Kind, *, is_decoded: bool) -> Iterator[FieldError]:
    """Check names, labels, annotations, owners and finalizers; in an undecoded object, skip fields of a wrong type."""
    readable = tree.get("metadata") or {}
    if not is_decoded:
        if not isinstance(readable, dict) or not isinstance(readable.get("name") or "", str):
            return  # the wrong type is already reported
        readable = {field: value for field, value in readable.items() if field in _METADATA and _METADATA[field](value)}
    is_generated = not readable.get("name") and bool(readable.get("generateName"))
    for cause in check_submitted(readable, kind):
        if is_generated and cause.field == "metadata.name":
            continue  # the name is generated, and its prefix is checked
        is_name = cause.field in ("metadata.name", "metadata.generateName")
        yield cause._replace(rule="invalid-name" if is_name else "invalid-metadata")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_text_map(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_owner_list(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict) and isinstance(item.get("apiVersion") or "", str) for item in value
    )


_METADATA: Final[dict[str, Callable[[Any], bool]]] = {
    "name": _is_text,
    "generateName": _is_text,
    "labels": _is_text_map,
    "annotations": _is_text_map,
    "finalizers": _is_text_list,
    "ownerReferences": _is_owner_list,
}
"""The metadata fields that are checked, each with a function that returns True if a value has the right type."""


def skip_undecoded(issues: Iterable[FieldError], reading: DecodedObject) -> Iterator[FieldError]:
    """Yield the issues, except those about fields that could not be decoded."""
    return (issue for issue in issues if not reading.concerns(issue.field)) if reading.issues else iter(issues)

"""
Checks of single documents: kind, fields, name and version.

Pure.
"""

import copy
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from virtshape.api.codec import from_tree
from virtshape.api.diagnosis import find_kind_problems, quote, walk
from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import KINDS, Kind, find_kind
from virtshape.api.model import JsonObject, Model
from virtshape.api.problems import DecodeError
from virtshape.api.unknownfields import decode_with_unknown
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
_CHECKED_KINDS: Final = {"VirtualMachine", "VirtualMachineInstance", "DataVolume", "DataSource"}
_SIZING_GROUPS: Final = {"instancetype.kubevirt.io", "flavor.kubevirt.io"}
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_NAME_LENGTH: Final = 253


class DecodedObject(NamedTuple):
    """The object decoded from a tree, without its invalid fields, and the problems of those."""

    object: Model | None
    problems: tuple[FieldError, ...] = ()

    def concerns(self, field: str) -> bool:
        """Return True if the field, one of its parents or one of its children is missing from the object."""
        return any(_is_within(field, each.field) or _is_within(each.field, field) for each in self.problems)


def _is_within(field: str, other: str) -> bool:
    return field == other or (field.startswith(other) and field[len(other)] in ".[")


def find_stated_kind(tree: Any) -> Kind | None:
    """Return the kind of a tree; None if it is unknown."""
    if not isinstance(tree, dict):
        return None
    api_version, kind = tree.get("apiVersion"), tree.get("kind")
    return find_kind(api_version, kind) if isinstance(api_version, str) and isinstance(kind, str) else None


def is_checked(kind: Kind) -> bool:
    """Return True if all fields of this kind are known, so that an unknown field is an error."""
    return kind.group in _SIZING_GROUPS or (kind.kind in _CHECKED_KINDS and kind.group in _OWN_GROUPS)


def check_kind(tree: Any, *, is_named: bool) -> Iterator[FieldError]:
    """Check a tree of unknown kind; `is_named` is set if the file was named on the command line."""
    if not isinstance(tree, dict) or "kind" not in tree or "apiVersion" not in tree:
        if is_named:
            yield FieldError("", "not a Kubernetes object: it has no apiVersion and kind", rule="not-an-object")
        return
    group, name = str(tree["apiVersion"]).rpartition("/")[0], str(tree["kind"])
    is_ours = group in _OWN_GROUPS and name not in _FOREIGN_KINDS
    if is_ours or any(kind.kind == name and kind.group in _OWN_GROUPS for kind in KINDS):
        for problem in find_kind_problems(tree):
            yield FieldError(problem.field, problem.message, rule="unknown-kind")


def decode_leniently(tree: JsonObject, struct: type[Model]) -> DecodedObject:
    """Decode a tree; if it is invalid, decode the valid part."""
    try:
        found, unknown = decode_with_unknown(tree, struct)
    except DecodeError as error:
        return DecodedObject(_decode_valid_part(tree, struct), error.causes)
    return DecodedObject(found, tuple(field.problem for field in unknown))


def _decode_valid_part(tree: JsonObject, struct: type[Model]) -> Model | None:
    """Return the object without its invalid fields; None if they are required."""
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
    """Return the reference of the object in a tree; the namespace defaults to `default`."""
    metadata = tree.get("metadata")
    names: JsonObject = metadata if isinstance(metadata, dict) else {}
    namespace = str(names.get("namespace") or "default") if kind.namespaced else ""
    return Reference(kind.group, kind.kind, namespace, str(names.get("name") or ""))


def check_identity(tree: JsonObject, reference: Reference) -> Iterator[FieldError]:
    """Check the name of an object and whether its API version is deprecated."""
    api_version = tree["apiVersion"]
    if api_version in DEPRECATED_VERSIONS:
        message = f"{api_version} is deprecated: use {DEPRECATED_VERSIONS[api_version]}"
        yield FieldError("apiVersion", message, rule="deprecated-version")
    metadata, name = tree.get("metadata") or {}, reference.name
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name") or "", str):
        return  # the wrong type is already reported
    if not name:
        if not metadata.get("generateName"):
            yield FieldError("metadata.name", "the object has no name: set metadata.name", rule="invalid-name")
    elif len(name) > _MAX_NAME_LENGTH or not _NAME.fullmatch(name):
        yield FieldError("metadata.name", f"{quote(name)} cannot be a name: {_describe_names()}", rule="invalid-name")


def _describe_names() -> str:
    return f"use up to {_MAX_NAME_LENGTH} lower case letters, digits, '-' and '.', with a letter or digit at both ends"


def skip_undecoded(issues: Iterable[FieldError], reading: DecodedObject) -> Iterator[FieldError]:
    """Drop the issues of fields that could not be decoded."""
    return (issue for issue in issues if not reading.concerns(issue.field))

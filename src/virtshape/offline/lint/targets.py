"""
Check objects against a KubeVirt release: find the versions, fields and values that it does not support.

What each release supports is listed in kubevirt.json, which tools/targets/generate.py derives from KubeVirt's published
Go modules. To add a release, extend RELEASES and run this tool.
"""

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

from virtshape.admission.checkresult import NO_EFFECT
from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.api.path import Part, format_path
from virtshape.api.yaml import YAMLError, scan_documents
from virtshape.offline.lint.decoding import find_stated_kind, reference_of_tree
from virtshape.offline.lint.finding import Finding, Subject, build_finding
from virtshape.resolve.reference import Reference

OWN: Final = "virtshape"
"""The default target, which is virtshape and not a KubeVirt release."""
RELEASES: Final = ("1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9")
TARGETS: Final = (OWN, *(f"kubevirt-{release}" for release in RELEASES))

_INSTANCETYPE_GROUP: Final = "instancetype.kubevirt.io"
_CURRENT_VERSIONS: Final = {
    "kubevirt.io": "kubevirt.io/v1",
    "instancetype.kubevirt.io": "instancetype.kubevirt.io/v1beta1",
    "flavor.kubevirt.io": "instancetype.kubevirt.io/v1beta1",
}
"""By group, the API version to use if a release does not serve the version of an object. All releases serve it."""
_SAME_SCHEMA: Final = {
    "VirtualMachineClusterInstancetype": "VirtualMachineInstancetype",
    "VirtualMachineClusterPreference": "VirtualMachinePreference",
}
_COMMON_KINDS: Final = {
    "instancetype": "VirtualMachineClusterInstancetype",
    "preference": "VirtualMachineClusterPreference",
}
_MISSING: Final = "missing-reference"
_REPORTED: Final = {"unknown-field", "missing-field", "unsupported-value", "wrong-type"}

At = tuple[Part, ...]
Defines = Callable[[Reference], bool]


class Target:
    """A KubeVirt release; `defines` returns True for objects in files, `catalog` enables checks of built-in objects."""

    def __init__(self, name: str, defines: Defines, *, catalog: bool = True) -> None:
        self.release = name.removeprefix("kubevirt-")
        self._defines = defines
        self._catalog = catalog
        self._table = _load_table()

    def check_text(self, text: bytes, file: str, known: list[Finding]) -> list[Finding]:
        """Return the findings in `known` that apply to this release, and new findings for other fields, by position."""
        reported = {(each.object, each.field) for each in known if each.rule in _REPORTED}
        findings: list[Finding] = []
        installed: set[tuple[Subject, str]] = set()
        for document in scan_documents(text, file):
            kind = None if isinstance(document, YAMLError) else find_stated_kind(document.tree)
            if kind is None or isinstance(document, YAMLError):
                continue
            reference = reference_of_tree(document.tree, kind)
            subject = Subject(kind.kind, reference.namespace, reference.name)
            issues = [each for each in self.check_object(document.tree, kind) if (subject, each.field) not in reported]
            findings += (build_finding(each, file, document.position(each.field), subject) for each in issues)
            installed.update((subject, field) for field in self._find_installed(document.tree, kind))
        dropped = [each for each in known if each.rule == _MISSING and (each.object, each.field) in installed]
        dropped += [each for each in known if each.rule == NO_EFFECT]  # KubeVirt honours these settings
        kept = [each for each in known if each not in dropped]
        return sorted([*kept, *findings], key=lambda finding: finding.place)

    def check_object(self, tree: JsonObject, kind: Kind) -> Iterator[FieldError]:
        """Yield an error for each version, field or value that the release does not support; none for other groups."""
        if kind.group not in _CURRENT_VERSIONS:
            return
        instead = _CURRENT_VERSIONS[kind.group]
        if not self._holds(self._table["served"].get(kind.api_version)):
            message = f"KubeVirt {self.release} does not serve {kind.api_version}: use {instead}"
            yield FieldError("apiVersion", message, rule="target-version")
        fields = _find_fields(kind.kind)
        if fields is not None and instead.startswith(f"{kind.group}/"):
            yield from self._check_value(tree.get("spec"), fields["spec"], ("spec",))
        for field, kind_name, name in _find_common(tree, kind) if self._catalog else ():
            yield from self._check_installed(field, kind_name, name)

    def _holds(self, ranges: str | None) -> bool:
        return ranges is not None and self.release in _read_ranges(ranges)

    def _check_value(self, value: object, node: JsonObject, at: At) -> Iterator[FieldError]:
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from self._check_value(item, node.get("*", {"@open": True}), (*at, index))
        elif isinstance(value, dict):
            yield from self._check_fields(value, node, at)
        elif isinstance(value, str) and "@values" in node:
            allowed = [name for name, ranges in node["@values"].items() if self._holds(ranges)]
            if allowed and value not in allowed:
                message = f"KubeVirt {self.release} refuses the value {value}: use one of {', '.join(allowed)}"
                yield FieldError(format_path(at), message, rule="target-value")

    def _check_fields(self, value: JsonObject, node: JsonObject, at: At) -> Iterator[FieldError]:
        for name, item in value.items():
            field = node["*"] if "*" in node else node.get(name)
            if field is not None and self._holds(field.get("@in", f"{RELEASES[0]}-{RELEASES[-1]}")):
                yield from self._check_value(item, field, (*at, name))
            elif not node.get("@open") and item is not None:
                yield FieldError(format_path((*at, name)), self._describe_missing(name, field), rule="target-field")
        for name, field in node.items():
            if name[0] not in "@*" and self._holds(field.get("@required")) and value.get(name) is None:
                message = f'KubeVirt {self.release} requires the field "{name}"'
                yield FieldError(format_path((*at, name)), message, rule="target-required")

    def _describe_missing(self, name: str, field: JsonObject | None) -> str:
        having = _read_ranges(field["@in"]) if field else ()
        if not having:
            when = "no release of KubeVirt has it"
        elif _rank(having[0]) > _rank(self.release):
            when = f"it was added in KubeVirt {having[0]}"
        else:
            when = f"it was removed after KubeVirt {having[-1]}"
        effect = "kubectl apply refuses it, and other clients drop it silently"
        return f'KubeVirt {self.release} does not have the field "{name}" ({when}): {effect}'

    def _check_installed(self, field: str, kind: str, name: str) -> Iterator[FieldError]:
        """Check that the release installs a common instance type or preference."""
        names = self._table["catalog"][kind]
        is_built_in = name in names or name in _list_own_catalog(kind)
        reference = Reference(_INSTANCETYPE_GROUP, kind, "", name)
        if is_built_in and not self._holds(names.get(name)) and not self._defines(reference):
            advice = "add its definition to the files, or name another one"
            message = f"KubeVirt {self.release} does not install the {kind} {name}: {advice}"
            yield FieldError(field, message, rule="target-catalog")

    def _find_installed(self, tree: JsonObject, kind: Kind) -> Iterator[str]:
        """Yield the fields of a VM that refer to an instance type or preference that the release installs."""
        for field, kind_name, name in _find_common(tree, kind) if self._catalog else ():
            if self._holds(self._table["catalog"][kind_name].get(name)):
                yield field


def _find_common(tree: JsonObject, kind: Kind) -> Iterator[tuple[str, str, str]]:
    """Yield the field, kind and name of the cluster-wide instance type and preference that a VM refers to."""
    spec = tree.get("spec") if kind.kind == "VirtualMachine" else None
    for role, common in _COMMON_KINDS.items():
        matcher = spec.get(role) if isinstance(spec, dict) else None
        if isinstance(matcher, dict):
            stated, name = str(matcher.get("kind") or common).lower(), matcher.get("name")
            if isinstance(name, str) and stated in (common.lower(), f"{common.lower()}s"):
                yield f"spec.{role}.name", common, name


def _rank(release: str) -> int:
    return RELEASES.index(release)


@cache
def _read_ranges(ranges: str) -> tuple[str, ...]:
    """Return all releases in ranges such as `1.3,1.6-1.9`."""
    releases: list[str] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        releases += RELEASES[_rank(first) : _rank(last or first) + 1]
    return tuple(releases)


@cache
def _load_table() -> Any:
    # Imported here, because only checks against a release need the table.
    from importlib.resources import files

    return json.loads(files("virtshape.offline.lint").joinpath("kubevirt.json").read_bytes())


def _find_fields(kind: str) -> Any:
    """Return the entry for a kind's fields in kubevirt.json, or None if the kind is not listed."""
    fields = _load_table()["fields"]
    if kind == "VirtualMachineInstance":
        return fields["VirtualMachine"]["spec"]["template"]
    return fields.get(_SAME_SCHEMA.get(kind, kind))


@cache
def _list_own_catalog(kind: str) -> frozenset[str]:
    # Imported here, because only this check needs the names.
    from virtshape import catalog

    return frozenset(found.metadata.name or "" for found in catalog.load() if found.kind == kind)

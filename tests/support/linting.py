"""
Manifests as text for tests that care about lines and columns; `§` marks the expected positions of findings.

    lint(vm(domain="§cpu: {cores: 2}"))
"""

import textwrap
from collections.abc import Iterable
from typing import NamedTuple

from virtshape.offline.lint import RULES, Finding, Linter
from virtshape.offline.lint.context import LintContext
from virtshape.offline.lint.objectscan import scan_objects

MARK = "§"
INSTANCETYPE_VERSION = "instancetype.kubevirt.io/v1beta2"


def prescan(texts: Iterable[bytes], *, catalog: bool) -> LintContext:
    """Return a lint context with the objects in these texts; `catalog` also makes the built-in catalog available."""
    return LintContext(*scan_objects(texts), catalog=catalog)


class Case(NamedTuple):
    """A manifest that breaks a rule at each mark, and a substring of every message."""

    rule: str
    text: str
    message: str
    catalog: bool = False


class MarkedText(NamedTuple):
    """A text without its marks, and the line and column of each mark."""

    text: str
    places: list[tuple[int, int]]


def read_marks(marked: str) -> MarkedText:
    lines, places = [], []
    for number, line in enumerate(marked.split("\n"), 1):
        while MARK in line:
            places.append((number, line.index(MARK) + 1))
            line = line.replace(MARK, "", 1)
        lines.append(line)
    return MarkedText("\n".join(lines), places)


def vm(
    spec: str = "",
    template: str = "",
    domain: str = "memory: {guest: 1Gi}",
    devices: str = "{}",
    run: str = "runStrategy: Always",
    name: str = "name: web",
) -> str:
    """Return a VM as YAML; the parameters are YAML blocks."""
    return _join(
        "apiVersion: kubevirt.io/v1",
        "kind: VirtualMachine",
        "metadata:",
        _indent(name, 2),
        "spec:",
        _indent(run, 2),
        _indent(spec, 2),
        "  template:",
        "    spec:",
        _indent(template, 6),
        "      domain:",
        _indent(domain, 8),
        "        devices:" + (f" {devices}" if devices == "{}" else "\n" + _indent(devices, 10)),
    )


def build_manifest(kind: str, spec: str, name: str = "small", version: str = INSTANCETYPE_VERSION) -> str:
    """Return an instance type, flavor or preference as YAML."""
    return _join(f"apiVersion: {version}", f"kind: {kind}", f"metadata: {{name: {name}}}", "spec:", _indent(spec, 2))


def instancetype(spec: str = "cpu: {guest: 2}\nmemory: {guest: 2Gi}", name: str = "small") -> str:
    return build_manifest("VirtualMachineClusterInstancetype", spec, name)


def preference(spec: str, name: str = "liked") -> str:
    return build_manifest("VirtualMachineClusterPreference", spec, name)


def claim(metadata: str = "", name: str = "disk") -> str:
    return _join(
        "apiVersion: v1",
        "kind: PersistentVolumeClaim",
        "metadata:",
        f"  name: {name}",
        _indent(metadata, 2),
        "spec: {}",
    )


def documents(*texts: str) -> str:
    return "---\n".join(texts)


def lint(text: str | bytes, *, catalog: bool = False, file: str = "vm.yaml") -> list[Finding]:
    data = text.encode() if isinstance(text, str) else text
    return Linter(prescan([data], catalog=catalog)).check_text(data, file)


def assert_findings(case: Case) -> None:
    """Check that the rule is reported at each mark, and nothing else."""
    text, places = read_marks(case.text)
    findings = lint(text, catalog=case.catalog)
    assert [(each.rule, each.line, each.column) for each in findings] == [(case.rule, *place) for place in places]
    assert all(each.level == RULES[case.rule].level for each in findings)
    assert all(case.message in each.message for each in findings), [each.message for each in findings]


def _join(*parts: str) -> str:
    return "\n".join(part for part in parts if part) + "\n"


def _indent(text: str, width: int) -> str:
    return textwrap.indent(text, " " * width)

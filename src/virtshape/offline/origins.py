"""
Where the fields of an expanded VM came from: the VM, its instance type or flavor, its preference, a default.

Only reads: the VM, what its matchers lead to, and the trace that was kept while it was expanded.
"""

from collections.abc import Mapping
from typing import NamedTuple

from virtshape.api.codec import to_tree
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import Model
from virtshape.engine.draft import Source, Trace
from virtshape.resolve.find import find_object, instancetype_role
from virtshape.resolve.matcher import Role, find_matcher
from virtshape.resolve.reference import Lookup, Reference

_LABELS: dict[Role, str] = {"instancetype": "instance type", "flavor": "flavor", "preference": "preference"}


class FieldSource(NamedTuple):
    """Who gave a field: what it is, its name if it has one, and the stored revision of it that was used, if any."""

    source: str
    name: str | None = None
    revision: str | None = None


class Origin(NamedTuple):
    """Where one field of an expanded VM came from: the giver's source, name and revision, as in FieldSource."""

    field: str
    value: object
    source: str
    name: str | None = None
    revision: str | None = None

    @property
    def description(self) -> str:
        """The giver in words: `VM`, `instance type u1.medium`."""
        name = f" {self.name}" if self.name and self.source != "VM" else ""
        revision = f" (revision {self.revision})" if self.revision else ""
        return f"{self.source}{name}{revision}"


FieldSources = Mapping[Source, FieldSource]


def find_sources_of_fields(vm: VirtualMachine, lookup: Lookup) -> FieldSources:
    """Who can give a field to a VM that is resolved and not yet expanded."""
    sources: dict[Source, FieldSource] = {
        "VM": FieldSource("VM", vm.metadata.name if vm.metadata else None),
        "default": FieldSource("default"),
    }
    roles: dict[Source, Role] = {"instance type": instancetype_role(vm), "preference": "preference"}
    for source, role in roles.items():
        matcher = find_matcher(vm, role)
        if matcher is not None:
            sources[source] = FieldSource(_LABELS[role], matcher.name, _find_revision(vm, role, lookup))
    return sources


def _find_revision(vm: VirtualMachine, role: Role, lookup: Lookup) -> str | None:
    asked: list[Reference] = []

    def note(reference: Reference) -> Model | None:
        asked.append(reference)
        return lookup(reference)

    find_object(vm, role, note)
    used = asked[-1]  # a revision that does not serve is passed over for the object itself
    return used.name if used.kind == "ControllerRevision" else None


def list_origins(vm: VirtualMachine, trace: Trace, sources: FieldSources) -> list[Origin]:
    """Where each field of an expanded VM's template came from, as its trace recorded it."""
    return [
        Origin(field, to_tree(value), *sources[source])
        for field, value, source in trace.walk(vm.spec.template, "spec.template")
    ]

"""
The origin of each field of an expanded VM: the VM, its instance type or flavor, its preference, or a default.

No object is modified.
"""

from collections.abc import Mapping
from typing import NamedTuple

from virtshape.api.codec import to_tree
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.engine.draft import Source, Trace
from virtshape.resolve.find import instancetype_role, search_object
from virtshape.resolve.matcher import Role, find_matcher
from virtshape.resolve.reference import Lookup
from virtshape.resolve.search import Search, run_search

_LABELS: dict[Role, str] = {"instancetype": "instance type", "flavor": "flavor", "preference": "preference"}


class FieldSource(NamedTuple):
    """The source of a field: its type, its name, and the name of the stored revision that is used, if any."""

    source: str
    name: str | None = None
    revision: str | None = None


class Origin(NamedTuple):
    """A field of an expanded VM with its value and its source; see FieldSource for the last three members."""

    field: str
    value: object
    source: str
    name: str | None = None
    revision: str | None = None

    @property
    def description(self) -> str:
        """The source as text, such as `VM` or `instance type u1.medium`."""
        name = f" {self.name}" if self.name and self.source != "VM" else ""
        revision = f" (revision {self.revision})" if self.revision else ""
        return f"{self.source}{name}{revision}"


FieldSources = Mapping[Source, FieldSource]


def get_sources_of_fields(vm: VirtualMachine, lookup: Lookup) -> FieldSources:
    """Return the sources that can set fields of a VM; call this after matchers are inferred and before expansion."""
    return run_search(search_sources_of_fields(vm), lookup)


def search_sources_of_fields(vm: VirtualMachine) -> Search[FieldSources]:
    """Return a search for the sources that `get_sources_of_fields` returns."""
    sources: dict[Source, FieldSource] = {
        "VM": FieldSource("VM", vm.metadata.name),
        "default": FieldSource("default"),
    }
    roles: dict[Source, Role] = {"instance type": instancetype_role(vm), "preference": "preference"}
    for source, role in roles.items():
        matcher = find_matcher(vm, role)
        if matcher is not None:
            revision = yield from _search_revision(vm, role)
            sources[source] = FieldSource(_LABELS[role], matcher.name, revision)
    return sources


def _search_revision(vm: VirtualMachine, role: Role) -> Search[str | None]:
    """Return a search whose result is the name of the stored revision that the VM uses, or None."""
    search, found, used = search_object(vm, role), None, None
    while True:
        try:
            used = search.send(found)
        except StopIteration:
            break
        found = yield used
    # The VM uses the object requested last: if a revision does not apply, the live object is requested after it.
    return used.name if used is not None and used.kind == "ControllerRevision" else None


def list_origins(vm: VirtualMachine, trace: Trace, sources: FieldSources) -> list[Origin]:
    """Return the origin of each field of an expanded VM's template, as recorded in its trace."""
    return [
        Origin(field, to_tree(value), *sources[source])
        for field, value, source in trace.walk(vm.spec.template, "spec.template")
    ]

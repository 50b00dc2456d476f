"""
Index of the instance types, flavors and preferences that VMs refer to.

The index is built on the first query and then updated from store events.
"""

from collections import Counter
from functools import lru_cache
from typing import Final

from msgspec import Struct, json

from virtshape.api.kubevirt.virtualmachine import FlavorMatcher, InstancetypeMatcher, PreferenceMatcher
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP, KINDS, Role, find_full_kind
from virtshape.resolve.reference import Reference
from virtshape.store.record import Event, Key
from virtshape.store.store import Store

VIRTUAL_MACHINES: Final = "virtualmachines.kubevirt.io"

_Names = tuple[str | None, str | None] | None
"""The kind and the name in a VM's matcher; None if the VM does not have the matcher."""


class _Matchers(Struct):
    instancetype: InstancetypeMatcher | None = None
    flavor: FlavorMatcher | None = None
    preference: PreferenceMatcher | None = None


class _Vm(Struct):
    spec: _Matchers


_DECODER: Final = json.Decoder(_Vm)
"""Decodes only the matchers of a VM."""


class UsageIndex:
    """Counts VMs by the objects they refer to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._named: dict[Key, frozenset[Reference]] | None = None
        self._counts: Counter[Reference] = Counter()

    def count(self, reference: Reference) -> int:
        """Return how many VMs refer to an object."""
        if self._named is None:
            self._named = {}
            for record in self._store.list(VIRTUAL_MACHINES).records:
                self._note(self._named, record.key, _read(record.key, record.value))
        return self._counts[reference]

    def observe(self, event: Event) -> None:
        """Update the index from a store event."""
        if self._named is not None and event.key.resource == VIRTUAL_MACHINES:
            named = frozenset[Reference]() if event.type == "DELETED" else _read(event.key, event.value)
            self._note(self._named, event.key, named)

    def _note(self, known: dict[Key, frozenset[Reference]], key: Key, named: frozenset[Reference]) -> None:
        before = known.get(key, frozenset())
        if named == before:
            return
        for reference in named - before:
            self._counts[reference] += 1
        for reference in before - named:
            self._counts[reference] -= 1
            if not self._counts[reference]:
                del self._counts[reference]
        if named:
            known[key] = named
        else:
            del known[key]


def _read(key: Key, value: bytes) -> frozenset[Reference]:
    spec = _DECODER.decode(value).spec
    instancetype, flavor, preference = spec.instancetype, spec.flavor, spec.preference
    return _refer(
        key.namespace,
        instancetype and (instancetype.kind, instancetype.name),
        flavor and (flavor.kind, flavor.name),
        preference and (preference.kind, preference.name),
    )


@lru_cache(maxsize=4096)  # cached, because most VMs refer to the same few objects and can share a set
def _refer(namespace: str, instancetype: _Names, flavor: _Names, preference: _Names) -> frozenset[Reference]:
    sizing = INSTANCETYPE_GROUP if flavor is None else FLAVOR_GROUP
    named: tuple[tuple[Role, _Names, str], ...] = (
        ("instancetype", instancetype, INSTANCETYPE_GROUP),
        ("flavor", flavor, FLAVOR_GROUP),
        ("preference", preference, sizing),
    )
    references = set()
    for role, names, group in named:
        kind = find_full_kind(InstancetypeMatcher(kind=names[0]), role) if names is not None else None
        if names is not None and kind is not None:
            where = "" if kind == KINDS[role].cluster else namespace
            references.add(Reference(group, kind, where, names[1] or ""))
    return frozenset(references)

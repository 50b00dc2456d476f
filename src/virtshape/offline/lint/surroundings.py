"""
All that VMs may refer to: the objects of the files and of the catalogue, and the names near to one that is missing.

Remembers what it was asked, since many VMs make the same mistake. Never changes what it holds.
"""

from collections.abc import Iterable
from functools import cache

from virtshape import catalog as builtin
from virtshape.api.model import Model
from virtshape.engine.nearest import Candidate
from virtshape.offline.objects import Objects
from virtshape.resolve.find import instancetype_spec
from virtshape.resolve.matcher import FLAVOR_GROUP, KINDS, Role
from virtshape.resolve.reference import NotFoundError, Reference


class Surroundings:
    """
    Objects to find, and what comes near to those that are not there.

    `broken` are there too, with mistakes of their own; objects of the catalogue stand behind all others.
    """

    def __init__(self, objects: Objects, broken: Iterable[Reference] = (), *, catalog: bool = False) -> None:
        self._objects = objects
        self._broken = frozenset(broken)
        self._catalog = _load_catalog() if catalog else Objects()
        self.describe_missing = cache(self._describe_missing)
        self.explain_missing = cache(self._explain_missing)
        self.list_candidates = cache(self._list_candidates)

    def find(self, reference: Reference) -> Model | None:
        """The object at this reference, if there is one that can be read."""
        if reference in self._broken:
            return None
        return self._objects.find(reference) or self._catalog.find(reference)

    def is_broken(self, reference: Reference) -> bool:
        """Whether the object is there, with mistakes of its own."""
        return reference in self._broken

    def _list_names(self, group: str, kind: str, namespace: str) -> list[str]:
        own, built_in = (held.names(group, kind, namespace) for held in (self._objects, self._catalog))
        return list(dict.fromkeys([*own, *built_in]))

    def _describe_missing(self, reference: Reference) -> str:
        """Say that an object is not there, and which others have a name near to it."""
        names = self._list_names(reference.group, reference.kind, reference.namespace)
        return NotFoundError(reference, "").suggest(names).message

    def _explain_missing(self, reference: Reference, role: Role, namespace: str) -> str:
        """Say that an object is not there, and what a VM of the namespace may mean instead."""
        message = self.describe_missing(reference)
        kinds = KINDS[role]
        other = kinds.namespaced if reference.kind == kinds.cluster else kinds.cluster
        elsewhere = Reference(reference.group, other, namespace if other == kinds.namespaced else "", reference.name)
        if self.find(elsewhere) is not None:
            return f"{message}; there is a {other} of this name: set spec.{role}.kind to it"
        return (
            message if message.endswith("?") else f"{message}: correct the name, or check the file that defines it too"
        )

    def _list_candidates(self, group: str, namespace: str) -> tuple[Candidate, ...]:
        """All instance types, or flavors, that a VM of the namespace may name."""
        kinds = KINDS["flavor" if group == FLAVOR_GROUP else "instancetype"]
        candidates = []
        for kind, where in ((kinds.cluster, ""), (kinds.namespaced, namespace)):
            for name in self._list_names(group, kind, where):
                spec = instancetype_spec(self.find(Reference(group, kind, where, name)))
                if spec is not None:
                    candidates.append(Candidate(f"{name} ({kind})" if where else name, spec))
        return tuple(candidates)


@cache
def _load_catalog() -> Objects:
    return Objects(builtin.load())

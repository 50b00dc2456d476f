"""
All that VMs may refer to: the objects of the files and of the catalog, and the names near to one that is missing.

Remembers what it was asked, since many VMs make the same mistake. Never changes what it holds.
"""

from collections.abc import Iterable
from functools import cache
from typing import Final

from virtshape import catalog as builtin
from virtshape.admission.missing import describe_missing, explain_missing, list_candidates
from virtshape.api.kubevirt.configuration import KubeVirt, KubeVirtConfiguration
from virtshape.api.model import Model
from virtshape.engine.nearest import Candidate
from virtshape.offline.objects import Objects
from virtshape.resolve.matcher import Role
from virtshape.resolve.reference import Reference

_CONFIGURATION: Final = Reference("kubevirt.io", "KubeVirt", "kubevirt", "kubevirt")
_ADVICE: Final = "correct the name, or check the file that defines it too"


class LintContext:
    """
    Objects to find, and what comes near to those that are not there.

    `broken` are there too, with mistakes of their own; objects of the catalog stand behind all others.
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

    @property
    def configuration(self) -> KubeVirtConfiguration | None:
        """The configuration, if a KubeVirt object is among the files; without one nothing is held against VMs."""
        found = self.find(_CONFIGURATION)
        return found.spec.configuration or KubeVirtConfiguration() if isinstance(found, KubeVirt) else None

    def is_broken(self, reference: Reference) -> bool:
        """Whether the object is there, with mistakes of its own."""
        return reference in self._broken

    def list_names(self, group: str, kind: str, namespace: str) -> list[str]:
        """The names of all objects of a kind, in a namespace if it is a namespaced one."""
        own, built_in = (held.names(group, kind, namespace) for held in (self._objects, self._catalog))
        return list(dict.fromkeys([*own, *built_in]))

    def _describe_missing(self, reference: Reference) -> str:
        return describe_missing(reference, self)

    def _explain_missing(self, reference: Reference, role: Role, namespace: str) -> str:
        return explain_missing(reference, role, namespace, self, _ADVICE)

    def _list_candidates(self, group: str, namespace: str) -> tuple[Candidate, ...]:
        return list_candidates(group, namespace, self)


@cache
def _load_catalog() -> Objects:
    return Objects(builtin.load())

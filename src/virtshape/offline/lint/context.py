"""
The objects that VMs may refer to, from files and the catalog, and suggestions for missing ones.

Caches its results, because many VMs have the same error. Never modifies the objects.
"""

from collections.abc import Iterable
from functools import cache
from typing import Final

from virtshape import catalog as builtin
from virtshape.admission.clusterstate import CONFIGURATION
from virtshape.admission.missing import describe_missing, list_candidates, search_explanation
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.model import Model
from virtshape.engine.nearest import Candidate
from virtshape.offline.objects import Objects
from virtshape.resolve.matcher import Role
from virtshape.resolve.reference import Reference
from virtshape.resolve.search import run_search

_ADVICE: Final = "correct the name, or check the file that defines it too"


class LintContext:
    """
    The known objects, and suggestions for missing ones.

    `broken` are objects that exist but are invalid; the objects of files take precedence over the catalog.
    """

    def __init__(self, objects: Objects, broken: Iterable[Reference] = (), *, catalog: bool = False) -> None:
        self._objects = objects
        self._broken = frozenset(broken)
        self._catalog = _load_catalog() if catalog else Objects()
        self.describe_missing = cache(self._describe_missing)
        self.explain_missing = cache(self._explain_missing)
        self.list_candidates = cache(self._list_candidates)

    def find(self, reference: Reference) -> Model | None:
        """Return the object of this reference; None if it is missing or invalid."""
        if reference in self._broken:
            return None
        return self._objects.find(reference) or self._catalog.find(reference)

    @property
    def configuration(self) -> KubeVirtConfiguration | None:
        """The configuration of the KubeVirt object in the files; None, and not checked, if there is none."""
        found = self.find(CONFIGURATION)
        return found.spec.configuration or KubeVirtConfiguration() if isinstance(found, KubeVirt) else None

    def is_broken(self, reference: Reference) -> bool:
        """Return True if the object exists but is invalid."""
        return reference in self._broken

    def list_names(self, group: str, kind: str, namespace: str) -> list[str]:
        """Return the names of all objects of a kind, in a namespace if the kind is namespaced."""
        own, built_in = (held.names(group, kind, namespace) for held in (self._objects, self._catalog))
        return list(dict.fromkeys([*own, *built_in]))

    def _describe_missing(self, reference: Reference) -> str:
        return describe_missing(reference, self)

    def _explain_missing(self, reference: Reference, role: Role, namespace: str) -> str:
        return run_search(search_explanation(reference, role, namespace, self, _ADVICE), self.find)

    def _list_candidates(self, group: str, namespace: str) -> tuple[Candidate, ...]:
        return list_candidates(group, namespace, self)


@cache
def _load_catalog() -> Objects:
    return Objects(builtin.load())

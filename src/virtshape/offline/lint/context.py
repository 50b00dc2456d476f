"""The objects in files and in the catalog that VMs may refer to. They are never modified."""

from collections.abc import Iterable
from functools import cache

from virtshape import catalog as builtin
from virtshape.admission.clusterstate import CONFIGURATION
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.kubevirt import KubeVirt, KubeVirtSpec
from virtshape.api.model import Model
from virtshape.offline.objects import Objects
from virtshape.resolve.reference import Reference


class LintContext:
    """
    The known objects.

    `broken` are references to objects that exist but are invalid. Objects in files take precedence over the catalog,
    and `configuration` takes precedence over the KubeVirt object in the files.
    """

    def __init__(
        self,
        objects: Objects,
        broken: Iterable[Reference] = (),
        *,
        catalog: bool = False,
        configuration: KubeVirtConfiguration | None = None,
    ) -> None:
        self._objects = objects
        self._configuration = configuration
        self._broken = frozenset(broken)
        self._catalog = _load_catalog() if catalog else Objects()

    def find(self, reference: Reference) -> Model | None:
        """Return the object for this reference; None if it is missing or invalid."""
        if reference in self._broken:
            return None
        return self._objects.find(reference) or self._catalog.find(reference)

    def find_kubevirt(self) -> KubeVirt | None:
        """Return the KubeVirt object, whose configuration applies to all VMs; None if it is unknown."""
        if self._configuration is not None:
            return build_kubevirt(self._configuration)
        found = self.find(CONFIGURATION)
        return found if isinstance(found, KubeVirt) else None

    def is_broken(self, reference: Reference) -> bool:
        """Return True if the object exists but is invalid."""
        return reference in self._broken

    def list_names(self, group: str, kind: str, namespace: str) -> list[str]:
        """Return the names of all objects of a kind, in a namespace if the kind is namespaced."""
        own, built_in = (held.names(group, kind, namespace) for held in (self._objects, self._catalog))
        return list(dict.fromkeys([*own, *built_in]))


def build_kubevirt(configuration: KubeVirtConfiguration) -> KubeVirt:
    """Return a KubeVirt object with this configuration."""
    spec = KubeVirtSpec(configuration=configuration)
    return KubeVirt(api_version="kubevirt.io/v1", kind="KubeVirt", spec=spec)


@cache
def _load_catalog() -> Objects:
    return Objects(builtin.load())

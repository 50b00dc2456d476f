"""The objects in files and in the catalog that VMs may refer to. These objects are never modified."""

from collections.abc import Iterable

from virtshape import catalog as builtin
from virtshape.admission.clusterstate import CONFIGURATION
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.kubevirt import KubeVirt, KubeVirtSpec
from virtshape.api.model import Model
from virtshape.offline.objects import Objects
from virtshape.resolve.matcher import INSTANCETYPE_GROUP
from virtshape.resolve.reference import Reference


class LintContext:
    """
    The objects that are known while files are linted.

    `broken` contains references to objects that exist but are invalid. Objects in files take precedence over the
    catalog, and `configuration` takes precedence over the KubeVirt object in the files.
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
        self._has_catalog = catalog
        self._built_in: dict[Reference, Model] = {}

    def find(self, reference: Reference) -> Model | None:
        """Return the object for this reference; None if it is missing or invalid."""
        if reference in self._broken:
            return None
        return self._objects.find(reference) or self._find_built_in(reference)

    def find_kubevirt(self) -> KubeVirt | None:
        """Return the KubeVirt object, whose configuration applies to all VMs, or None if there is none."""
        if self._configuration is not None:
            return build_kubevirt(self._configuration)
        found = self.find(CONFIGURATION)
        return found if isinstance(found, KubeVirt) else None

    def is_broken(self, reference: Reference) -> bool:
        """Return True if the object exists but is invalid."""
        return reference in self._broken

    def list_names(self, group: str, kind: str, namespace: str) -> list[str]:
        """Return the names of all objects of a kind, in a namespace if the kind is namespaced."""
        names = self._objects.names(group, kind, namespace)
        if self._has_catalog and group == INSTANCETYPE_GROUP and not namespace:
            names += builtin.names(kind)
        return list(dict.fromkeys(names))

    def _find_built_in(self, reference: Reference) -> Model | None:
        """Return an object of the catalog, which is built when it is first needed."""
        found = self._built_in.get(reference)
        if found is None and self._has_catalog and reference.group == INSTANCETYPE_GROUP and not reference.namespace:
            found = builtin.find(reference.kind, reference.name)
            if found is not None:
                self._built_in[reference] = found
        return found


def build_kubevirt(configuration: KubeVirtConfiguration) -> KubeVirt:
    """Return a KubeVirt object with this configuration."""
    spec = KubeVirtSpec(configuration=configuration)
    return KubeVirt(api_version="kubevirt.io/v1", kind="KubeVirt", spec=spec)

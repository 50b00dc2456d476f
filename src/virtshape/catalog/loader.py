"""Build the catalog's API objects. Each call returns new objects, which the caller may modify."""

from virtshape.api.codec import from_tree
from virtshape.api.instancetype import v1beta1, v1beta2
from virtshape.catalog import preferences, series

CatalogObject = (
    v1beta2.VirtualMachineInstancetype
    | v1beta2.VirtualMachineClusterInstancetype
    | v1beta2.VirtualMachinePreference
    | v1beta2.VirtualMachineClusterPreference
)

_VERSIONS = {"v1beta2": v1beta2, "v1beta1": v1beta1}
_SOURCES = {"VirtualMachineClusterInstancetype": series, "VirtualMachineClusterPreference": preferences}
_KINDS_IN_LOWER_CASE = {kind.lower(): kind for kind in _SOURCES}


def load(namespaced: bool = False, version: str = "v1beta2") -> list[CatalogObject]:
    """Build all instance types and preferences; v1beta1 has no `custom` sizes, because it requires vCPUs and memory."""
    return [
        _build(kind, name, namespaced, version)
        for kind, source in _SOURCES.items()
        for name in source.names()
        if version != "v1beta1" or not series.is_custom(name)
    ]


def find(kind: str, name: str) -> CatalogObject | None:
    """Return a new object of this cluster-wide kind (spelled as in a VM's matcher) with this name, or None."""
    known = _find_kind(kind)
    return _build(known, name) if known and name in _SOURCES[known].names() else None


def names(kind: str) -> list[str]:
    """Return the names of all objects of a cluster-wide kind (spelled as in a VM's matcher)."""
    known = _find_kind(kind)
    return _SOURCES[known].names() if known else []


def _find_kind(kind: str) -> str | None:
    return _KINDS_IN_LOWER_CASE.get(kind.lower().removesuffix("s"))


def _build(kind: str, name: str, namespaced: bool = False, version: str = "v1beta2") -> CatalogObject:
    written_kind = kind.replace("Cluster", "") if namespaced else kind
    struct: type[CatalogObject] = getattr(_VERSIONS[version], written_kind)
    tree = {"apiVersion": f"instancetype.kubevirt.io/{version}", "kind": written_kind, **_SOURCES[kind].describe(name)}
    return from_tree(tree, struct)

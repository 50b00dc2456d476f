"""
The table of all kinds, with their groups, versions, names and structs.

The module of a struct is imported when the struct is first used.
"""

from functools import cache, partial
from importlib import import_module
from typing import NamedTuple

from virtshape.api.model import Model

_DEFINED_GROUPS = frozenset(
    {
        "cdi.kubevirt.io",
        "flavor.kubevirt.io",
        "instancetype.kubevirt.io",
        "kubevirt.io",
        "snapshot.storage.k8s.io",
    }
)


class Kind(NamedTuple):
    """A kind in one version, with all its names; `struct_path` is `module:class`, relative to `virtshape.api`."""

    group: str
    version: str
    kind: str
    singular: str
    plural: str
    short_names: tuple[str, ...]
    namespaced: bool
    categories: tuple[str, ...]
    struct_path: str

    @property
    def api_version(self) -> str:
        """The value of `apiVersion` in objects of this kind."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def struct(self) -> type[Model]:
        """The struct class of objects of this kind."""
        return _import_struct(self.struct_path)


def is_custom_resource(kind: Kind) -> bool:
    """Return True if the kind is a custom resource, defined by a CustomResourceDefinition."""
    return kind.group in _DEFINED_GROUPS


def find_kind(api_version: str, kind: str) -> Kind | None:
    """Return the kind with this apiVersion and name, or None."""
    return _BY_KIND.get((api_version, kind))


def find_resource(group: str, version: str, plural: str) -> Kind | None:
    """Return the kind with this group, version and plural name, or None."""
    return _BY_RESOURCE.get((group, version, plural))


@cache
def _import_struct(path: str) -> type[Model]:
    module, _, name = path.partition(":")
    struct: type[Model] = getattr(import_module(f"virtshape.api.{module}"), name)
    return struct


def _kind(
    group: str,
    version: str,
    struct_path: str,
    short_names: str = "",
    *,
    singular: str = "",
    namespaced: bool = True,
    categories: str = "",
) -> Kind:
    kind = struct_path.partition(":")[2]
    singular = singular or kind.lower()
    plural = singular + ("es" if singular.endswith("s") else "s")
    names = tuple(short_names.split())
    return Kind(group, version, kind, singular, plural, names, namespaced, tuple(categories.split()), struct_path)


def _kubevirt_kinds(version: str) -> list[Kind]:
    kind = partial(_kind, "kubevirt.io", version, categories="all")
    return [
        kind("kubevirt.virtualmachine:VirtualMachine", "vm vms"),
        kind("kubevirt.instance:VirtualMachineInstance", "vmi vmis"),
        kind("kubevirt.kubevirt:KubeVirt", "kv kvs"),
    ]


def _instancetype_kinds(version: str) -> list[Kind]:
    kind = partial(_kind, "instancetype.kubevirt.io", version)
    module = "instancetype.v1beta2" if version == "v1beta2" else "instancetype.v1beta1"
    return [
        kind(
            f"{module}:VirtualMachineInstancetype",
            "vminstancetype vminstancetypes vmf vmfs",
            categories="all",
        ),
        kind(
            f"{module}:VirtualMachineClusterInstancetype",
            "vmclusterinstancetype vmclusterinstancetypes vmcf vmcfs",
            namespaced=False,
        ),
        kind(f"{module}:VirtualMachinePreference", "vmpref vmprefs vmp vmps", categories="all"),
        kind(f"{module}:VirtualMachineClusterPreference", "vmcp vmcps", namespaced=False),
    ]


def _flavor_kinds() -> list[Kind]:
    kind = partial(_kind, "flavor.kubevirt.io", "v1alpha1")
    module = "flavor.v1alpha1"
    return [
        kind(f"{module}:VirtualMachineFlavor", categories="all"),
        kind(f"{module}:VirtualMachineClusterFlavor", namespaced=False),
        # The resource names differ from those in the instancetype group, so that names in kubectl are not ambiguous.
        kind(f"{module}:VirtualMachinePreference", singular="virtualmachineflavorpreference", categories="all"),
        kind(
            f"{module}:VirtualMachineClusterPreference",
            singular="virtualmachineclusterflavorpreference",
            namespaced=False,
        ),
    ]


def _storage_kinds() -> list[Kind]:
    return [
        _kind("cdi.kubevirt.io", "v1beta1", "cdi:DataVolume", "dv dvs", categories="all"),
        _kind("cdi.kubevirt.io", "v1beta1", "cdi:DataSource", "das", categories="all"),
        _kind("cdi.kubevirt.io", "v1beta1", "cdi:CDIConfig", namespaced=False),
        _kind("upload.cdi.kubevirt.io", "v1beta1", "cdi:UploadTokenRequest", "utr utrs"),
        _kind("snapshot.storage.k8s.io", "v1", "snapshot:VolumeSnapshot", "vs"),
        _kind("storage.k8s.io", "v1", "storage:StorageClass", "sc", namespaced=False),
    ]


def _core_kinds() -> list[Kind]:
    kind = partial(_kind, "", "v1")
    return [
        kind("core.config:ConfigMap", "cm"),
        kind("core.event:Event", "ev"),
        kind("core.namespace:Namespace", "ns", namespaced=False),
        kind("core.node:Node", "no", namespaced=False),
        kind("core.claim:PersistentVolumeClaim", "pvc"),
        kind("core.persistentvolume:PersistentVolume", "pv", namespaced=False),
        kind("core.podspec:Pod", "po", categories="all"),
        kind("core.quota:ResourceQuota", "quota"),
        kind("core.config:Secret"),
        kind("core.service:Service", "svc", categories="all"),
        kind("core.serviceaccount:ServiceAccount", "sa"),
        _kind("apps", "v1", "apps:ControllerRevision"),
        _kind("apps", "v1", "deployment:Deployment", "deploy", categories="all"),
        _kind("coordination.k8s.io", "v1", "coordination:Lease"),
    ]


def _access_kinds() -> list[Kind]:
    rbac = partial(_kind, "rbac.authorization.k8s.io", "v1")
    authentication = partial(_kind, "authentication.k8s.io", "v1", namespaced=False)
    authorization = partial(_kind, "authorization.k8s.io", "v1")
    return [
        rbac("rbac:Role"),
        rbac("rbac:RoleBinding"),
        rbac("rbac:ClusterRole", namespaced=False),
        rbac("rbac:ClusterRoleBinding", namespaced=False),
        authentication("authentication:TokenReview"),
        authentication("authentication:SelfSubjectReview"),
        authorization("authorization:LocalSubjectAccessReview"),
        authorization("authorization:SubjectAccessReview", namespaced=False),
        authorization("authorization:SelfSubjectAccessReview", namespaced=False),
        authorization("authorization:SelfSubjectRulesReview", namespaced=False),
        _kind(
            "apiextensions.k8s.io",
            "v1",
            "apiextensions:CustomResourceDefinition",
            "crd crds",
            namespaced=False,
            categories="api-extensions",
        ),
    ]


KINDS: tuple[Kind, ...] = (
    *_kubevirt_kinds("v1"),
    *_kubevirt_kinds("v1alpha3"),
    *_instancetype_kinds("v1beta2"),
    *_instancetype_kinds("v1beta1"),
    *_instancetype_kinds("v1alpha2"),
    *_instancetype_kinds("v1alpha1"),
    *_flavor_kinds(),
    *_storage_kinds(),
    *_core_kinds(),
    *_access_kinds(),
)
"""All kinds; if a group has several versions, the kinds in the preferred version come first."""

_BY_KIND = {(kind.api_version, kind.kind): kind for kind in KINDS}
_BY_RESOURCE = {(kind.group, kind.version, kind.plural): kind for kind in KINDS}

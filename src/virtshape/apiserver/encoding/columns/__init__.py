"""Table columns of each kind, as kubectl shows them."""

from virtshape.api.kinds import Kind, is_custom_resource
from virtshape.apiserver.encoding.columns import access, kubevirt, volumes, workloads
from virtshape.apiserver.encoding.columns.column import BUILT_IN, CUSTOM, Column

_COLUMNS: dict[tuple[str, str], tuple[Column, ...]] = {
    ("", "ConfigMap"): access.CONFIG_MAP,
    ("", "Event"): workloads.EVENT,
    ("", "Namespace"): access.NAMESPACE,
    ("", "Node"): workloads.NODE,
    ("", "PersistentVolume"): volumes.VOLUME,
    ("", "PersistentVolumeClaim"): volumes.CLAIM,
    ("", "Pod"): workloads.POD,
    ("", "ResourceQuota"): volumes.QUOTA,
    ("", "Secret"): access.SECRET,
    ("", "Service"): workloads.SERVICE,
    ("", "ServiceAccount"): access.SERVICE_ACCOUNT,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): access.DEFINITION,
    ("apps", "ControllerRevision"): workloads.REVISION,
    ("apps", "Deployment"): workloads.DEPLOYMENT,
    ("cdi.kubevirt.io", "DataVolume"): volumes.DATA_VOLUME,
    ("coordination.k8s.io", "Lease"): workloads.LEASE,
    ("flavor.kubevirt.io", "VirtualMachineClusterFlavor"): kubevirt.FLAVOR,
    ("flavor.kubevirt.io", "VirtualMachineClusterPreference"): kubevirt.FLAVOR_PREFERENCE,
    ("flavor.kubevirt.io", "VirtualMachineFlavor"): kubevirt.FLAVOR,
    ("flavor.kubevirt.io", "VirtualMachinePreference"): kubevirt.FLAVOR_PREFERENCE,
    ("instancetype.kubevirt.io", "VirtualMachineClusterInstancetype"): kubevirt.INSTANCETYPE,
    ("instancetype.kubevirt.io", "VirtualMachineClusterPreference"): kubevirt.PREFERENCE,
    ("instancetype.kubevirt.io", "VirtualMachineInstancetype"): kubevirt.INSTANCETYPE,
    ("instancetype.kubevirt.io", "VirtualMachinePreference"): kubevirt.PREFERENCE,
    ("kubevirt.io", "KubeVirt"): kubevirt.KUBEVIRT,
    ("kubevirt.io", "VirtualMachine"): kubevirt.VM,
    ("kubevirt.io", "VirtualMachineInstance"): kubevirt.INSTANCE,
    ("rbac.authorization.k8s.io", "ClusterRole"): access.ROLE,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): access.BINDING,
    ("rbac.authorization.k8s.io", "Role"): access.ROLE,
    ("rbac.authorization.k8s.io", "RoleBinding"): access.BINDING,
    ("snapshot.storage.k8s.io", "VolumeSnapshot"): volumes.SNAPSHOT,
    ("storage.k8s.io", "StorageClass"): volumes.STORAGE_CLASS,
}


def list_columns(kind: Kind) -> tuple[Column, ...]:
    """Return the columns of a kind; the name is first, except for events."""
    return _COLUMNS.get((kind.group, kind.kind)) or (CUSTOM if is_custom_resource(kind) else BUILT_IN)

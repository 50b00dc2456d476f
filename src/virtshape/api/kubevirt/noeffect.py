"""
Settings in the KubeVirt object that have no effect anywhere or only on clusters, for warnings and field descriptions.

Every other setting always has an effect. A listed setting includes all fields within it.
"""

from typing import Final

from msgspec import Struct

from virtshape.api.kubevirt.configuration import (
    ArchConfiguration,
    ArchSpecificConfiguration,
    DeveloperConfiguration,
    KubeVirtConfiguration,
    NetworkConfiguration,
    VirtualMachineOptions,
)
from virtshape.api.kubevirt.kubevirt import KubeVirtSpec

NO_EFFECT: Final[dict[type[Struct], frozenset[str]]] = {
    KubeVirtSpec: frozenset(
        {
            "certificateRotateStrategy",
            "customizeComponents",
            "imagePullPolicy",
            "imagePullSecrets",
            "imageRegistry",
            "imageTag",
            "infra",
            "monitorAccount",
            "monitorNamespace",
            "productComponent",
            "productName",
            "productVersion",
            "serviceMonitorNamespace",
            "synchronizationPort",
            "uninstallStrategy",
            "workloadUpdateStrategy",
            "workloads",
        }
    ),
    KubeVirtConfiguration: frozenset(
        {
            "apiConfiguration",
            "changedBlockTrackingLabelSelectors",
            "confidentialCompute",
            "controllerConfiguration",
            "handlerConfiguration",
            "hypervisors",
            "ksmConfiguration",
            "mediatedDevicesConfiguration",
            "memBalloonStatsPeriod",
            "migrations",
            "minCPUModel",
            "obsoleteCPUModels",
            "ovmfPath",
            "persistentReservationConfiguration",
            "roleAggregationStrategy",
            "smbios",
            "supportContainerResources",
            "supportedGuestAgentVersions",
            "tlsConfiguration",
            "virtTemplateDeployment",
            "virtualMachineInstancesPerNode",
            "webhookConfiguration",
        }
    ),
    ArchConfiguration: frozenset({"ppc64le"}),
    ArchSpecificConfiguration: frozenset({"ovmfPath"}),
    DeveloperConfiguration: frozenset(
        {
            "clusterProfiler",
            "diskVerification",
            "logVerbosity",
            "minimumClusterTSCFrequency",
            "minimumReservePVCBytes",
            "pvcTolerateLessSpaceUpToPercent",
        }
    ),
    NetworkConfiguration: frozenset({"binding", "permitSlirpInterface"}),
    VirtualMachineOptions: frozenset({"disableFreePageReporting"}),
}
"""JSON names of fields without effect, by struct."""

CLUSTER_ONLY: Final[dict[type[Struct], frozenset[str]]] = {
    KubeVirtConfiguration: frozenset(
        {
            "additionalGuestMemoryOverheadRatio",
            "autoCPULimitNamespaceLabelSelector",
            "defaultRuntimeClass",
            "imagePullPolicy",
            "seccompConfiguration",
            "selinuxLauncherType",
            "vmStateStorageClass",
        }
    ),
    DeveloperConfiguration: frozenset({"useEmulation"}),
}
"""JSON names of fields that only affect guests in pods, by struct; the standalone server has no pods."""


def has_effect(struct: type[Struct], name: str) -> bool:
    """Return True if virtshape acts on the field with this JSON name in the struct."""
    return name not in NO_EFFECT.get(struct, ())


def is_cluster_only(struct: type[Struct], name: str) -> bool:
    """Return True if the field with this JSON name in the struct only affects guests in pods on a cluster."""
    return name in CLUSTER_ONLY.get(struct, ())

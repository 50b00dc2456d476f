"""KubeVirt's feature gates, and warnings for graduated, retired and unknown gates."""

from typing import Final

from virtshape.api.spelling import quote, suggest

ACTIVE: Final = frozenset(
    {
        "AlignCPUs",
        "CPUManager",
        "ConfigurableHypervisor",
        "CrossArchitectureVirtualization",
        "DecentralizedLiveMigration",
        "DeclarativeHotplugVolumes",
        "DownwardMetrics",
        "EnableVirtioFsStorageVolumes",
        "ExperimentalIgnitionSupport",
        "ExternalNetResourceInjection",
        "GPUsWithDRA",
        "HostDevices",
        "HostDevicesWithDRA",
        "HostDisk",
        "HypervStrictCheck",
        "ImageVolume",
        "IncrementalBackup",
        "KubevirtSeccompProfile",
        "LibvirtHooksServerAndClient",
        "NetworkDevicesWithDRA",
        "NodeRestriction",
        "ObjectGraph",
        "OptOutRoleAggregation",
        "PCINUMAAwareTopology",
        "PasstBinding",
        "PodSecondaryInterfaceNamingUpgrade",
        "RebootPolicy",
        "ReservedOverheadMemlock",
        "Root",
        "Sidecar",
        "Snapshot",
        "Template",
        "UtilityVolumes",
        "VGPULiveMigration",
        "VSOCK",
        "VmiMemoryOverheadReport",
        "WorkloadEncryptionSEV",
        "WorkloadEncryptionTDX",
    }
)
"""Gates of features that are not GA in KubeVirt; virtshape checks only the gates in docs/feature-gates.md."""

_GRADUATED: Final = frozenset(
    {
        "AutoResourceLimitsGate",
        "BochsDisplayForEFIGuests",
        "CPUNodeDiscovery",
        "ClusterProfiler",
        "CommonInstancetypesDeploymentGate",
        "DisableCustomSELinuxPolicy",
        "DynamicPodInterfaceNaming",
        "EnableVirtioFsConfigVolumes",
        "ExpandDisks",
        "GPU",
        "HotplugNICs",
        "InstancetypeReferencePolicy",
        "LiveMigration",
        "LiveUpdateNADRef",
        "MigrationPriorityQueue",
        "NUMA",
        "NetworkBindingPlugins",
        "NonRoot",
        "PSA",
        "PanicDevices",
        "PersistentReservation",
        "SRIOVLiveMigration",
        "SecureExecution",
        "VMExport",
        "VMLiveUpdateFeatures",
        "VMPersistentState",
        "VideoConfig",
        "VolumeMigration",
        "VolumesUpdateStrategy",
    }
)
_RETIRED: Final = {
    "DisableMDEVConfiguration": "DisableMDEVConfiguration has been deprecated since v1.8.0",
    "DockerSELinuxMCSWorkaround": "DockerSELinuxMCSWorkaround has been deprecated since v1.4.",
    "ExperimentalVirtiofsSupport": "feature gate ExperimentalVirtiofsSupport is discontinued: virtiofs needs no gate",
    "HotplugVolumes": "HotplugVolumes has been deprecated since v1.9.0: DeclarativeHotplugVolumes has replaced it",
    "Macvtap": "Macvtap network binding is discontinued since v1.3: use a binding plugin",
    "MultiArchitecture": "MultiArchitecture has been deprecated since v1.8.0",
    "Passt": "Passt network binding is discontinued since v1.3: use passtBinding",
    "PasstIPStackMigration": "feature gate PasstIPStackMigration is discontinued: passtBinding needs no gate",
}


def find_feature_gate_warning(name: str) -> str | None:
    """Return a warning for a graduated, retired or unknown feature gate; None for other gates."""
    if name in ACTIVE:
        return None
    if name in _GRADUATED:
        reason = 'is deprecated (feature state is "General Availability")'
        return f"feature gate {name} {reason}, therefore it can be safely removed and is redundant"
    if name in _RETIRED:
        return _RETIRED[name]
    return f"unknown feature gate {quote(name)} is stored but has no effect{suggest(name, ACTIVE)}"

"""
Feature gates of KubeVirt: which there are, and which one need not name any more.

Only the table and the warning for a name. What a gate guards here is in engine/hostaccess.
"""

from typing import Final

from virtshape.api.diagnosis import quote, suggest

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
"""Gates of features that are not generally available in KubeVirt; those in hostaccess.HONOURED are checked here."""

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
    "ExperimentalVirtiofsSupport": "the feature gate ExperimentalVirtiofsSupport is discontinued: virtiofs needs none",
    "HotplugVolumes": "HotplugVolumes has been deprecated since v1.9.0: DeclarativeHotplugVolumes has replaced it",
    "Macvtap": "Macvtap network binding is discontinued since v1.3: use a binding plugin",
    "MultiArchitecture": "MultiArchitecture has been deprecated since v1.8.0",
    "Passt": "Passt network binding is discontinued since v1.3: use passtBinding",
    "PasstIPStackMigration": "the feature gate PasstIPStackMigration is discontinued: passtBinding needs none",
}


def describe_feature_gate(name: str) -> str | None:
    """What an administrator should know who names a gate; None if there is nothing to say."""
    if name in ACTIVE:
        return None
    if name in _GRADUATED:
        reason = 'is deprecated (feature state is "General Availability")'
        return f"feature gate {name} {reason}, therefore it can be safely removed and is redundant"
    if name in _RETIRED:
        return _RETIRED[name]
    return f"unknown feature gate {quote(name)} is kept and has no effect{suggest(name, ACTIVE)}"

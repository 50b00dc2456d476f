"""
Structs for the configuration in the KubeVirt object: settings for VMs in this cluster.

Defaults are applied where a setting is used.
"""

from typing import Literal

from msgspec import field

from virtshape.api.kubevirt.components import (
    LogVerbosity,
    ReloadableComponentConfiguration,
    TLSConfiguration,
)
from virtshape.api.kubevirt.hostdevices import MediatedDevicesConfiguration, PermittedHostDevices
from virtshape.api.kubevirt.migration import MigrationConfiguration
from virtshape.api.meta import LabelSelector
from virtshape.api.model import Int32, Settings
from virtshape.api.quantity import Quantity


class ArchSpecificConfiguration(Settings):
    """Defaults for VMs of one CPU architecture."""

    machine_type: str | None = None
    """Machine type of VMs that do not set one, such as q35."""
    emulated_machines: list[str] | None = None
    """Machine types that VMs may use, as patterns such as q35* or pc-q35*."""
    ovmf_path: str | None = None
    """Folder with the EFI firmware images."""


class ArchConfiguration(Settings):
    """Defaults by CPU architecture."""

    default_architecture: str | None = None
    """Architecture of VMs that do not set one; amd64 by default."""
    amd64: ArchSpecificConfiguration | None = None
    """Defaults for amd64; the machine type is q35 if unset."""
    arm64: ArchSpecificConfiguration | None = None
    """Defaults for arm64; the machine type is virt if unset."""
    s390x: ArchSpecificConfiguration | None = None
    """Defaults for s390x; the machine type is s390-ccw-virtio if unset."""
    ppc64le: ArchSpecificConfiguration | None = None
    """Deprecated: ppc64le is no longer supported."""


class ChangedBlockTrackingSelectors(Settings):
    """Selects the VMs with changed block tracking; at least one of the selectors must match."""

    namespace_label_selector: LabelSelector | None = None
    """Selects VMs in namespaces with these labels."""
    virtual_machine_label_selector: LabelSelector | None = None
    """Selects VMs with these labels."""


class CommonInstancetypesDeployment(Settings):
    """The catalog of common instance types and preferences."""

    enabled: bool | None = None
    """Whether the catalog is installed; true by default."""


class TDXAttestationConfiguration(Settings):
    """Attestation of Intel TDX guests."""

    enforced: bool | None = None
    """Set to true to run TDX VMs only on nodes with a quote generation service."""
    qgs_socket_path: str | None = None
    """Path of the quote generation service's socket on the node."""


class TDXConfiguration(Settings):
    """Settings for Intel TDX guests."""

    attestation: TDXAttestationConfiguration | None = None
    """Settings for the attestation of TDX guests."""


class ConfidentialComputeConfiguration(Settings):
    """Settings for guests with encrypted memory."""

    tdx: TDXConfiguration | None = None
    """Settings for Intel TDX guests."""


class DiskVerification(Settings):
    """How container disks are inspected before use."""

    memory_limit: Quantity
    """Maximum memory that the inspection may use, such as 2G."""


class DeveloperConfiguration(Settings):
    """Feature gates, overcommit and other settings, mostly for tests."""

    feature_gates: list[str] | None = None
    """Names of features to enable."""
    disabled_feature_gates: list[str] | None = None
    """Names of features to disable; they must not be in featureGates."""
    use_emulation: bool | None = None
    """Set to true to emulate VMs, which is slow, on nodes without hardware virtualization; false by default."""
    cpu_allocation_ratio: Int32 | None = None
    """vCPUs per requested host CPU, 10 by default; not used for dedicated CPUs."""
    memory_overcommit: Int32 | None = None
    """Guest memory in percent of the memory request, 100 by default; with 150, a VM requests 2Gi for 3Gi of memory."""
    minimum_reserve_pvc_bytes: int | None = field(default=None, name="minimumReservePVCBytes")
    """Bytes to leave free on a claim that holds a disk image; 131072 by default."""
    pvc_tolerate_less_space_up_to_percent: Int32 | None = None
    """Percentage by which a claim may be smaller than the disk; 10 by default."""
    minimum_cluster_tsc_frequency: int | None = field(default=None, name="minimumClusterTSCFrequency")
    """Minimum TSC frequency of nodes in Hz; by default, the lowest frequency of all nodes."""
    node_selectors: dict[str, str] | None = None
    """Labels that a node must have to run any VM."""
    disk_verification: DiskVerification | None = None
    """How container disks are inspected."""
    log_verbosity: LogVerbosity | None = None
    """Log verbosity of the components."""
    cluster_profiler: bool | None = None
    """Set to true to allow profiling of the control plane."""


class HypervisorConfiguration(Settings):
    """A hypervisor on the nodes."""

    name: str | None = None
    """Name of the hypervisor: kvm or hyperv-direct."""


class InstancetypeConfiguration(Settings):
    """How VMs refer to their instance type and preference."""

    reference_policy: str | None = None
    """reference (default) stores revisions; expand writes fields into VMs without revisions, expandAll into all VMs."""
    missing_reference: Literal["Reject", "Defer"] | None = None
    """If the named object does not exist: Reject (default) rejects the VM, Defer starts it once the object exists."""
    revision_name: Literal["Spec", "Status"] | None = None
    """Where revision names are written: to the VM's spec and status (Spec, default), or to its status only (Status)."""
    revision_sharing: Literal["PerVM", "Namespace"] | None = None
    """Whether VMs have their own revisions (PerVM, default) or share equal revisions in a namespace (Namespace)."""


class KSMConfiguration(Settings):
    """Selects the nodes with kernel same-page merging (KSM)."""

    node_label_selector: LabelSelector | None = None
    """Selects the nodes by label: {} selects every node; if absent, no node is selected."""


class LiveUpdateConfiguration(Settings):
    """Limits for resizing running VMs that set no limits."""

    max_hotplug_ratio: int | None = None
    """Maximum size as a multiple of the size at start, if the other fields are absent; 4 by default."""
    max_cpu_sockets: int | None = None
    """Maximum sockets of a VM that does not set maxSockets; a VM that starts with more sockets cannot grow."""
    max_guest: Quantity | None = None
    """Maximum memory of a VM that does not set maxGuest; a VM that starts with more memory cannot grow."""


class ResourceRequirementsWithoutClaims(Settings):
    """Resources of a container."""

    requests: dict[str, Quantity] | None = None
    """Requests by resource, such as cpu and memory."""
    limits: dict[str, Quantity] | None = None
    """The limits, by resource."""


class InterfaceBindingMigration(Settings):
    """How VMs with a binding plugin migrate."""

    method: str | None = None
    """`link-refresh` takes the guest's link down and up after the migration."""


class InterfaceBindingPlugin(Settings):
    """A network binding plugin."""

    network_attachment_definition: str | None = None
    """The plugin's network attachment, as name or namespace/name; in the VM's namespace by default."""
    sidecar_image: str | None = None
    """Image of a sidecar container that sets up the interface."""
    domain_attachment_type: str | None = None
    """How the guest is attached to the network, with or without a sidecar: tap or managedTap."""
    downward_api: str | None = field(default=None, name="downwardAPI")
    """Information to pass to the sidecar; `device-info` passes information about the network device."""
    migration: InterfaceBindingMigration | None = None
    """Present, even as {}, if VMs that use the plugin can migrate."""
    compute_resource_overhead: ResourceRequirementsWithoutClaims | None = None
    """Additional resources of the launcher container for each VM that uses the plugin."""


class NetworkConfiguration(Settings):
    """Network settings of VMs."""

    default_network_interface: str | None = None
    """Binding of the interface that a VM without interfaces gets: bridge (default) or masquerade."""
    permit_bridge_interface_on_pod_network: bool | None = None
    """Whether VMs may use a bridge, which prevents their migration, on the pod network; true by default."""
    permit_slirp_interface: bool | None = None
    """Deprecated: slirp is no longer supported."""
    binding: dict[str, InterfaceBindingPlugin] | None = None
    """Binding plugins, by the name that an interface refers to."""


class PersistentReservationConfiguration(Settings):
    """SCSI persistent reservations, which cluster software in guests needs."""

    enabled: bool | None = None
    """Whether LUNs may use persistent reservations; false by default."""


class CustomProfile(Settings):
    """A seccomp profile; exactly one of the two fields must be set."""

    localhost_profile: str | None = None
    """Path of the profile's file, relative to the kubelet's seccomp folder."""
    runtime_default_profile: bool | None = None
    """Set to true to use the default profile of the container runtime."""


class VirtualMachineInstanceProfile(Settings):
    """Seccomp settings of launchers."""

    custom_profile: CustomProfile | None = None
    """Seccomp profile of launchers."""


class SeccompConfiguration(Settings):
    """Seccomp profiles."""

    virtual_machine_instance_profile: VirtualMachineInstanceProfile | None = None
    """Seccomp settings of launchers."""


class SMBiosConfiguration(Settings):
    """SMBIOS data that guests see, for example with dmidecode."""

    manufacturer: str | None = None
    """Manufacturer in the SMBIOS tables; KubeVirt by default."""
    product: str | None = None
    """Name of the product; "None" by default."""
    family: str | None = None
    """Family of products; KubeVirt by default."""
    sku: str | None = None
    """Stock keeping unit (SKU) of the product."""
    version: str | None = None
    """Version of the product."""


class SupportContainerResources(Settings):
    """Resources of one type of support container."""

    type: str
    """The type, such as container-disk, hotplug-disk, virtiofs, sidecar or guest-console-log."""
    resources: ResourceRequirementsWithoutClaims
    """Requests and limits of each such container."""


class VirtTemplateDeployment(Settings):
    """Whether the components of VM templates are deployed."""

    enabled: bool | None = None
    """Whether VM templates are installed; true by default if their feature gate is enabled."""


class DisableFreePageReporting(Settings):
    """Set to `{}` to disable free page reporting."""


class DisableSerialConsoleLog(Settings):
    """Set to `{}` to disable the log of serial consoles."""


class VirtualMachineOptions(Settings):
    """Settings for all VMs."""

    disable_free_page_reporting: DisableFreePageReporting | None = None
    """Set to `{}` to disable free page reporting, which returns unused guest memory to the node."""
    disable_serial_console_log: DisableSerialConsoleLog | None = None
    """Set to `{}` to disable the log of serial consoles; a VM's logSerialConsole overrides this setting."""


class KubeVirtConfiguration(Settings):
    """Settings for VMs in this cluster."""

    instancetype: InstancetypeConfiguration | None = None
    """How VMs refer to their instance type and preference."""
    common_instancetypes_deployment: CommonInstancetypesDeployment | None = None
    """Whether the catalog of common instance types is installed."""
    architecture_configuration: ArchConfiguration | None = None
    """Defaults by CPU architecture, such as the machine type."""
    cpu_model: str | None = None
    """CPU model of VMs that do not set one, such as host-passthrough; host-model by default."""
    cpu_request: Quantity | None = None
    """CPU request of VMs that do not set one; 100m by default."""
    obsolete_cpu_models: dict[str, bool] | None = field(default=None, name="obsoleteCPUModels")
    """CPU models that are not supported on nodes, as keys with the value true."""
    eviction_strategy: str | None = None
    """Default eviction strategy of VMs: None, LiveMigrate, LiveMigrateIfPossible or External."""
    vm_rollout_strategy: str | None = None
    """When a larger VM size takes effect: immediately if possible (LiveUpdate, default), or at a restart (Stage)."""
    live_update_configuration: LiveUpdateConfiguration | None = None
    """Maximum size of running VMs."""
    migrations: MigrationConfiguration | None = None
    """Settings of live migrations."""
    network: NetworkConfiguration | None = None
    """Network settings of VMs."""
    permitted_host_devices: PermittedHostDevices | None = None
    """Devices of the nodes that VMs may use."""
    mediated_devices_configuration: MediatedDevicesConfiguration | None = None
    """Which mediated devices, such as vGPUs, to create on the nodes."""
    hypervisors: list[HypervisorConfiguration] | None = None
    """Hypervisors on the nodes; kvm by default."""
    confidential_compute: ConfidentialComputeConfiguration | None = None
    """Settings for guests with encrypted memory."""
    smbios: SMBiosConfiguration | None = None
    """SMBIOS data that guests see."""
    virtual_machine_options: VirtualMachineOptions | None = None
    """Settings for all VMs."""
    virtual_machine_instances_per_node: Int32 | None = None
    """Maximum number of VMs on a node; 110 by default."""
    additional_guest_memory_overhead_ratio: str | None = None
    """Factor for the memory overhead of a pod, such as "1.2"; 1 by default."""
    auto_cpu_limit_namespace_label_selector: LabelSelector | None = field(
        default=None, name="autoCPULimitNamespaceLabelSelector"
    )
    """Selects namespaces whose VMs get a CPU limit equal to their vCPUs, unless their CPUs are dedicated."""
    mem_balloon_stats_period: int | None = None
    """Seconds between reports of a guest's memory usage, 10 by default; 0 disables the reports."""
    ksm_configuration: KSMConfiguration | None = None
    """Selects the nodes with kernel same-page merging (KSM)."""
    changed_block_tracking_label_selectors: ChangedBlockTrackingSelectors | None = None
    """Selects the VMs with changed block tracking, which incremental backups need."""
    vm_state_storage_class: str | None = None
    """Storage class of claims for TPM and EFI state; the default class if absent."""
    persistent_reservation_configuration: PersistentReservationConfiguration | None = None
    """Whether LUNs may use SCSI persistent reservations."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    """When a VM's images are pulled: Always, IfNotPresent or Never."""
    default_runtime_class: str | None = None
    """Runtime class of the pods that VMs run in."""
    support_container_resources: list[SupportContainerResources] | None = None
    """Resources of support containers, by type."""
    selinux_launcher_type: str | None = None
    """SELinux type of the pods that VMs run in."""
    seccomp_configuration: SeccompConfiguration | None = None
    """Seccomp settings of the pods that VMs run in."""
    tls_configuration: TLSConfiguration | None = None
    """TLS settings of the components' servers."""
    role_aggregation_strategy: str | None = None
    """AggregateToDefault (default) adds permissions for VMs to the roles admin, edit and view; Manual does not."""
    virt_template_deployment: VirtTemplateDeployment | None = None
    """Whether VM templates are installed."""
    developer_configuration: DeveloperConfiguration | None = None
    """Feature gates, overcommit and other settings, mostly for tests."""
    api_configuration: ReloadableComponentConfiguration | None = None
    """Rate limits for requests that the API server sends."""
    controller_configuration: ReloadableComponentConfiguration | None = None
    """Rate limits for requests that the controllers send."""
    handler_configuration: ReloadableComponentConfiguration | None = None
    """Rate limits for requests that the agents on the nodes send."""
    webhook_configuration: ReloadableComponentConfiguration | None = None
    """Rate limits for requests that the admission webhooks send."""
    machine_type: str | None = None
    """Deprecated in favour of architectureConfiguration: machine type of VMs that do not set one."""
    emulated_machines: list[str] | None = None
    """Deprecated in favour of architectureConfiguration: machine types that VMs may use."""
    ovmf_path: str | None = None
    """Deprecated: folder with the EFI firmware images."""
    min_cpu_model: str | None = field(default=None, name="minCPUModel")
    """Deprecated: oldest CPU model of VMs with the model host-model."""
    supported_guest_agent_versions: list[str] | None = None
    """Deprecated: versions of the guest agent that are supported."""

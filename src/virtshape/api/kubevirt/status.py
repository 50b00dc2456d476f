from typing import Literal

from msgspec import field

from virtshape.api.kubevirt.domain import CPUTopology, Machine
from virtshape.api.model import Int32, Model, Time, UInt32
from virtshape.api.quantity import Quantity


class VirtualMachineInstanceBackupVolumeInfo(Model):
    volume_name: str


class VirtualMachineInstanceBackupStatus(Model):
    backup_msg: str | None = None
    backup_name: str | None = None
    checkpoint_name: str | None = None
    completed: bool | None = None
    end_timestamp: Time | None = None
    failed: bool | None = None
    quiesce_status: str | None = None
    start_timestamp: Time | None = None
    volumes: list[VirtualMachineInstanceBackupVolumeInfo] | None = None


class ChangedBlockTrackingStatus(Model):
    state: str
    backup_status: VirtualMachineInstanceBackupStatus | None = None


class VirtualMachineInstanceCondition(Model):
    type: str
    status: str
    last_probe_time: Time | None = None
    last_transition_time: Time | None = None
    message: str | None = None
    reason: str | None = None


class VirtualMachineInstanceGuestOSInfo(Model):
    name: str | None = None
    id: str | None = None
    kernel_release: str | None = None
    kernel_version: str | None = None
    machine: str | None = None
    pretty_name: str | None = None
    version: str | None = None
    version_id: str | None = None


class VirtualMachineInstanceNetworkInterface(Model):
    name: str | None = None
    info_source: str | None = None
    interface_name: str | None = None
    ip_address: str | None = None
    ip_addresses: list[str] | None = None
    link_state: str | None = None
    mac: str | None = None
    pod_interface_name: str | None = None
    queue_count: Int32 | None = None


class InitrdInfo(Model):
    checksum: int | None = None


class KernelInfo(Model):
    checksum: int | None = None


class KernelBootStatus(Model):
    initrd_info: InitrdInfo | None = None
    kernel_info: KernelInfo | None = None


class MemoryStatus(Model):
    guest_at_boot: Quantity | None = None
    guest_current: Quantity | None = None
    guest_requested: Quantity | None = None
    memory_overhead: Quantity | None = None


class PersistentVolumeClaimInfo(Model):
    access_modes: list[Literal["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]] | None = None
    capacity: dict[str, Quantity] | None = None
    claim_name: str | None = None
    filesystem_overhead: str | None = None
    preallocated: bool | None = None
    requests: dict[str, Quantity] | None = None
    volume_mode: Literal["Block", "Filesystem", "FromStorageProfile"] | None = None


class StorageMigratedVolumeInfo(Model):
    volume_name: str
    destination_pvc_info: PersistentVolumeClaimInfo | None = field(default=None, name="destinationPVCInfo")
    source_pvc_info: PersistentVolumeClaimInfo | None = field(default=None, name="sourcePVCInfo")


class DowntimeTuningOptions(Model):
    cooldown_seconds: Int32 | None = None
    initial_ms: int | None = None
    start_after_iteration: int | None = None
    steps: Int32 | None = None


class StallDetectorOptions(Model):
    completion_timeout_factor: Quantity | None = None
    ewma_alpha: Quantity | None = None
    patience_window_decay_factor: Quantity | None = None
    precopy_possible_factor: Quantity | None = None
    search_local_minima: bool | None = None
    stall_margin: int | None = None
    stall_progress_timeout: int | None = None
    switchover_timeout: int | None = None


class ExperimentalMigrationOptions(Model):
    compression: str | None = None
    downtime_tuning: DowntimeTuningOptions | None = None
    stall_detector: StallDetectorOptions | None = None


class VMIMConfigurationOptions(Model):
    allow_auto_converge: bool | None = None
    allow_post_copy: bool | None = None
    allow_workload_disruption: bool | None = None
    bandwidth_per_migration: Quantity | None = None
    completion_timeout_per_gi_b: int | None = None
    disable_tls: bool | None = field(default=None, name="disableTLS")
    experimental: ExperimentalMigrationOptions | None = None
    match_se_linux_level_on_migration: bool | None = field(default=None, name="matchSELinuxLevelOnMigration")
    max_downtime_ms: int | None = None
    network: str | None = None
    node_drain_taint_key: str | None = None
    parallel_migrations_per_cluster: int | None = None
    parallel_outbound_migrations_per_node: int | None = None
    progress_timeout: int | None = None
    unsafe_migration_override: bool | None = None
    utility_volumes_timeout: int | None = None


class VirtualMachineInstanceMigrationSourceState(Model):
    domain_name: str | None = None
    domain_namespace: str | None = None
    migration_uid: str | None = field(default=None, name="migrationUID")
    node: str | None = None
    node_selectors: dict[str, str] | None = None
    persistent_state_pvc_name: str | None = field(default=None, name="persistentStatePVCName")
    pod: str | None = None
    selinux_context: str | None = None
    sync_address: str | None = None
    virtual_machine_instance_uid: str | None = field(default=None, name="virtualMachineInstanceUID")


class VirtualMachineInstanceMigrationTargetState(Model):
    attachment_pod_uid: str | None = field(default=None, name="attachmentPodUID")
    cpu_set: list[Int32] | None = None
    direct_migration_node_ports: dict[str, Int32] | None = None
    domain_detected: bool | None = None
    domain_name: str | None = None
    domain_namespace: str | None = None
    domain_ready_timestamp: Time | None = None
    migration_uid: str | None = field(default=None, name="migrationUID")
    node: str | None = None
    node_address: str | None = None
    node_topology: str | None = None
    persistent_state_pvc_name: str | None = field(default=None, name="persistentStatePVCName")
    pod: str | None = None
    selinux_context: str | None = None
    sync_address: str | None = None
    virtual_machine_instance_uid: str | None = field(default=None, name="virtualMachineInstanceUID")


class VirtualMachineInstanceMigrationState(Model):
    abort_requested: bool | None = None
    abort_status: str | None = None
    completed: bool | None = None
    end_timestamp: Time | None = None
    failed: bool | None = None
    failure_reason: str | None = None
    migration_configuration: VMIMConfigurationOptions | None = None
    migration_network_type: str | None = None
    migration_policy_name: str | None = None
    migration_uid: str | None = None
    mode: str | None = None
    source_node: str | None = None
    source_persistent_state_pvc_name: str | None = field(default=None, name="sourcePersistentStatePVCName")
    source_pod: str | None = None
    source_state: VirtualMachineInstanceMigrationSourceState | None = None
    start_timestamp: Time | None = None
    target_attachment_pod_uid: str | None = field(default=None, name="targetAttachmentPodUID")
    target_cpu_set: list[Int32] | None = field(default=None, name="targetCPUSet")
    target_direct_migration_node_ports: dict[str, Int32] | None = None
    target_memory_overhead: Quantity | None = None
    target_node: str | None = None
    target_node_address: str | None = None
    target_node_domain_detected: bool | None = None
    target_node_domain_ready_timestamp: Time | None = None
    target_node_topology: str | None = None
    target_persistent_state_pvc_name: str | None = field(default=None, name="targetPersistentStatePVCName")
    target_pod: str | None = None
    target_state: VirtualMachineInstanceMigrationTargetState | None = None


class VirtualMachineInstancePhaseTransitionTimestamp(Model):
    phase: str | None = None
    phase_transition_timestamp: Time | None = None


class TopologyHints(Model):
    tsc_frequency: int | None = None


class ContainerDiskInfo(Model):
    checksum: int | None = None


class HotplugVolumeStatus(Model):
    attach_pod_name: str | None = None
    attach_pod_uid: str | None = field(default=None, name="attachPodUID")


class DomainMemoryDumpInfo(Model):
    claim_name: str | None = None
    end_timestamp: Time | None = None
    start_timestamp: Time | None = None
    target_file_name: str | None = None


class VolumeStatus(Model):
    name: str
    target: str
    container_disk_volume: ContainerDiskInfo | None = None
    hotplug_volume: HotplugVolumeStatus | None = None
    memory_dump_volume: DomainMemoryDumpInfo | None = None
    message: str | None = None
    persistent_volume_claim_info: PersistentVolumeClaimInfo | None = None
    phase: str | None = None
    reason: str | None = None
    size: int | None = None


class VirtualMachineInstanceStatus(Model):
    vsock_cid: UInt32 | None = field(default=None, name="VSOCKCID")
    active_pods: dict[str, str] | None = None
    changed_block_tracking: ChangedBlockTrackingStatus | None = None
    conditions: list[VirtualMachineInstanceCondition] | None = None
    current_cpu_topology: CPUTopology | None = field(default=None, name="currentCPUTopology")
    evacuation_node_name: str | None = None
    fs_freeze_status: str | None = None
    guest_os_info: VirtualMachineInstanceGuestOSInfo | None = field(default=None, name="guestOSInfo")
    interfaces: list[VirtualMachineInstanceNetworkInterface] | None = None
    kernel_boot_status: KernelBootStatus | None = None
    launcher_container_image_version: str | None = None
    machine: Machine | None = None
    memory: MemoryStatus | None = None
    migrated_volumes: list[StorageMigratedVolumeInfo] | None = None
    migration_method: str | None = None
    migration_state: VirtualMachineInstanceMigrationState | None = None
    migration_transport: str | None = None
    node_name: str | None = None
    phase: str | None = None
    phase_transition_timestamps: list[VirtualMachineInstancePhaseTransitionTimestamp] | None = None
    qos_class: Literal["BestEffort", "Burstable", "Guaranteed"] | None = None
    reason: str | None = None
    runtime_user: int | None = None
    selinux_context: str | None = None
    topology_hints: TopologyHints | None = None
    virtual_machine_revision_name: str | None = None
    volume_status: list[VolumeStatus] | None = None

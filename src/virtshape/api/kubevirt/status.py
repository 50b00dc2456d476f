"""Structs for the status of an instance: phase, guest, network, volumes, backups."""

from typing import Literal

from msgspec import field

from virtshape.api.kubevirt.domain import CPUTopology, Machine
from virtshape.api.kubevirt.migration import VirtualMachineInstanceMigrationState
from virtshape.api.model import Int32, Model, Time, UInt32
from virtshape.api.quantity import Quantity


class VirtualMachineInstanceBackupVolumeInfo(Model):
    """A volume in a backup."""

    volume_name: str
    """Name of the volume in the VM."""


class VirtualMachineInstanceBackupStatus(Model):
    """Progress of an instance's current or last backup."""

    backup_name: str | None = None
    """Name of the backup object."""
    start_timestamp: Time | None = None
    """When the backup began."""
    end_timestamp: Time | None = None
    """When the backup ended."""
    completed: bool | None = None
    """True once the backup has ended, successfully or not."""
    failed: bool | None = None
    """True if the backup failed."""
    backup_msg: str | None = None
    """Error or other information about the backup."""
    checkpoint_name: str | None = None
    """Checkpoint taken with the backup, from which the next incremental backup can start."""
    quiesce_status: str | None = None
    """Whether freezing the guest's file systems succeeded, failed or was skipped."""
    volumes: list[VirtualMachineInstanceBackupVolumeInfo] | None = None
    """The volumes in the backup."""


class ChangedBlockTrackingStatus(Model):
    """Changed block tracking, which incremental backups need."""

    state: str
    """State of the tracking, such as PendingRestart, Initializing, Enabled or Disabled."""
    backup_status: VirtualMachineInstanceBackupStatus | None = None
    """The current or last backup."""


class VirtualMachineInstanceCondition(Model):
    """A condition of an instance: status, reason, and when it last changed."""

    type: str
    """Type of the condition, such as Ready, Paused, AgentConnected or LiveMigratable."""
    status: str
    """Status of the condition: True, False or Unknown."""
    reason: str | None = None
    """Reason for the status, in CamelCase."""
    message: str | None = None
    """Human-readable details of the condition."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    last_probe_time: Time | None = None
    """When the condition was last checked."""


class VirtualMachineInstanceGuestOSInfo(Model):
    """The guest's operating system, as reported by the guest agent."""

    name: str | None = None
    """Name of the system, such as Fedora Linux."""
    id: str | None = None
    """Short name of the system, such as fedora or mswindows."""
    pretty_name: str | None = None
    """Name and version for display."""
    version: str | None = None
    """Version, with its edition or code name."""
    version_id: str | None = None
    """Version number without further text, such as 41."""
    kernel_release: str | None = None
    """Release of the kernel, as uname -r prints it."""
    kernel_version: str | None = None
    """Build of the kernel, as uname -v prints it."""
    machine: str | None = None
    """Hardware name, such as x86_64."""


class VirtualMachineInstanceNetworkInterface(Model):
    """A network interface of the guest."""

    name: str | None = None
    """Name of the interface in the VM; absent for interfaces that only the guest knows."""
    interface_name: str | None = None
    """Name inside the guest, such as eth0; needs the guest agent."""
    pod_interface_name: str | None = None
    """Name inside the pod."""
    mac: str | None = None
    """MAC address of the interface."""
    ip_address: str | None = None
    """The first of ipAddresses."""
    ip_addresses: list[str] | None = None
    """All IP addresses of the interface."""
    link_state: str | None = None
    """State of the link: up or down."""
    queue_count: Int32 | None = None
    """Number of queues; above 1 with multi-queue."""
    info_source: str | None = None
    """Sources of this information, separated by commas: domain, guest-agent and multus-status."""


class InitrdInfo(Model):
    """The initial RAM disk that the guest booted with."""

    checksum: int | None = None
    """Deprecated: checksum of the file."""


class KernelInfo(Model):
    """The kernel that the guest booted with."""

    checksum: int | None = None
    """Deprecated: checksum of the file."""


class KernelBootStatus(Model):
    """The files of a guest that boots a kernel from a container image."""

    kernel_info: KernelInfo | None = None
    """The kernel that the guest booted with."""
    initrd_info: InitrdInfo | None = None
    """The initial RAM disk that the guest booted with."""


class MemoryStatus(Model):
    """The guest's memory: at start, requested and current."""

    guest_at_boot: Quantity | None = None
    """Memory that the guest started with."""
    guest_requested: Quantity | None = None
    """Requested memory; differs from guestCurrent during a hotplug."""
    guest_current: Quantity | None = None
    """Current memory of the guest."""
    memory_overhead: Quantity | None = None
    """Memory overhead of the instance's pod."""


class PersistentVolumeClaimInfo(Model):
    """State of the claim that a volume uses."""

    claim_name: str | None = None
    """Name of the PersistentVolumeClaim."""
    access_modes: list[Literal["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]] | None = None
    """Access modes of the claim."""
    volume_mode: Literal["Block", "Filesystem", "FromStorageProfile"] | None = None
    """Filesystem, or Block for a raw device."""
    requests: dict[str, Quantity] | None = None
    """The requested size, under `storage`."""
    capacity: dict[str, Quantity] | None = None
    """The actual size, under `storage`."""
    filesystem_overhead: str | None = None
    """Fraction of the file system that a disk image leaves free, such as 0.055."""
    preallocated: bool | None = None
    """Whether the image is preallocated."""


class StorageMigratedVolumeInfo(Model):
    """A volume that migrates to another claim."""

    volume_name: str
    """Name of the volume in the VM."""
    source_pvc_info: PersistentVolumeClaimInfo | None = field(default=None, name="sourcePVCInfo")
    """State of the claim that the volume migrates from."""
    destination_pvc_info: PersistentVolumeClaimInfo | None = field(default=None, name="destinationPVCInfo")
    """State of the claim that the volume migrates to."""


class VirtualMachineInstancePhaseTransitionTimestamp(Model):
    """When an instance entered a phase."""

    phase: str | None = None
    """The phase that the instance entered."""
    phase_transition_timestamp: Time | None = None
    """When the instance entered the phase."""


class TopologyHints(Model):
    """Requirements of this instance for its node."""

    tsc_frequency: int | None = None
    """TSC frequency in Hz; set for guests that need a stable TSC."""


class ContainerDiskInfo(Model):
    """A disk that comes from a container image."""

    checksum: int | None = None
    """Checksum of the disk, to detect that a tag refers to another image."""


class HotplugVolumeStatus(Model):
    """The pod that attached a volume to the running guest."""

    attach_pod_name: str | None = None
    """Name of the pod."""
    attach_pod_uid: str | None = field(default=None, name="attachPodUID")
    """UID of the pod."""


class DomainMemoryDumpInfo(Model):
    """A dump of the guest's memory."""

    claim_name: str | None = None
    """Claim that the dump is written to."""
    target_file_name: str | None = None
    """Name of the dump's file in the claim."""
    start_timestamp: Time | None = None
    """When the dump began."""
    end_timestamp: Time | None = None
    """When the dump ended."""


class VolumeStatus(Model):
    """State of one volume."""

    name: str
    """Name of the volume in the VM."""
    target: str
    """Device name, such as vda; the guest may use another name. Empty while the volume is not attached."""
    phase: str | None = None
    """Phase of a hotplugged volume or a memory dump, such as Bound, AttachedToNode or Ready."""
    reason: str | None = None
    """Reason for the phase, in CamelCase."""
    message: str | None = None
    """Human-readable details of the phase."""
    size: int | None = None
    """Size of the volume in bytes."""
    persistent_volume_claim_info: PersistentVolumeClaimInfo | None = None
    """The claim that the volume uses, if there is one."""
    container_disk_volume: ContainerDiskInfo | None = None
    """The container disk that the volume uses, if there is one."""
    hotplug_volume: HotplugVolumeStatus | None = None
    """Hotplug information; present for hotplugged volumes only."""
    memory_dump_volume: DomainMemoryDumpInfo | None = None
    """The memory dump on the volume, if there is one."""


class VirtualMachineInstanceStatus(Model):
    """Observed state of an instance."""

    phase: str | None = None
    """Phase of the instance: Pending, Scheduling, Scheduled, Running, Succeeded, Failed, WaitingForSync or Unknown."""
    reason: str | None = None
    """Reason for the phase in CamelCase, such as NodeUnresponsive."""
    conditions: list[VirtualMachineInstanceCondition] | None = None
    """Current conditions, one per type."""
    phase_transition_timestamps: list[VirtualMachineInstancePhaseTransitionTimestamp] | None = None
    """When the instance entered each phase."""
    node_name: str | None = None
    """The node that the instance runs on."""
    active_pods: dict[str, str] | None = None
    """Nodes of the instance's pods, by pod UID; there are two pods during a migration."""
    current_cpu_topology: CPUTopology | None = field(default=None, name="currentCPUTopology")
    """Current sockets, cores and threads; differs from the spec during a hotplug."""
    memory: MemoryStatus | None = None
    """The guest's memory, at start and now."""
    machine: Machine | None = None
    """The machine type in use, with its version if the spec contains an alias such as q35."""
    guest_os_info: VirtualMachineInstanceGuestOSInfo | None = field(default=None, name="guestOSInfo")
    """The guest's operating system; needs the guest agent."""
    interfaces: list[VirtualMachineInstanceNetworkInterface] | None = None
    """The guest's network interfaces and their addresses."""
    volume_status: list[VolumeStatus] | None = None
    """State of each volume."""
    kernel_boot_status: KernelBootStatus | None = None
    """The kernel files, if the guest boots a kernel from a container image."""
    fs_freeze_status: str | None = None
    """State of the guest's file systems: `frozen`, or absent if they are not frozen."""
    changed_block_tracking: ChangedBlockTrackingStatus | None = None
    """Changed block tracking for backups."""
    migration_method: str | None = None
    """Migration method: LiveMigration, or BlockMigration if disks must be copied too."""
    migration_transport: str | None = None
    """Transport of migration data; Unix for a Unix socket."""
    migration_state: VirtualMachineInstanceMigrationState | None = None
    """The current or last live migration."""
    migrated_volumes: list[StorageMigratedVolumeInfo] | None = None
    """Volumes that are moving to other claims."""
    evacuation_node_name: str | None = None
    """The node that the instance is evacuated from; set while the node is drained."""
    qos_class: Literal["BestEffort", "Burstable", "Guaranteed"] | None = None
    """Quality of service class of the instance's pod, which follows from requests and limits."""
    launcher_container_image_version: str | None = None
    """Image of the instance's launcher."""
    runtime_user: int | None = None
    """User id that the launcher runs as; 0 for root."""
    selinux_context: str | None = None
    """SELinux context of the instance's pod."""
    topology_hints: TopologyHints | None = None
    """Requirements of the instance for its node."""
    virtual_machine_revision_name: str | None = None
    """ControllerRevision with the VM's spec at start."""
    vsock_cid: UInt32 | None = field(default=None, name="VSOCKCID")
    """Address of the guest for vsock connections, if it has a vsock device."""

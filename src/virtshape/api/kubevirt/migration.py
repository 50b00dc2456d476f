"""
Structs for live migration: settings, and the state that an instance reports.

Source and target report their states separately, because they may be in different clusters.
"""

from msgspec import field

from virtshape.api.model import Int32, Model, Time
from virtshape.api.quantity import Quantity


class MigrationConfiguration(Model):
    """Settings of live migrations."""

    parallel_migrations_per_cluster: int | None = None
    """Maximum number of parallel migrations in the cluster; 5 by default."""
    parallel_outbound_migrations_per_node: int | None = None
    """Maximum number of parallel outgoing migrations per node; 2 by default."""
    bandwidth_per_migration: Quantity | None = None
    """Maximum bytes per second for a migration, such as 64Mi; 0 (default) for no limit."""
    completion_timeout_per_gi_b: int | None = None
    """Timeout in seconds per GiB to copy, 150 by default; the `allow...` fields define what happens then."""
    progress_timeout: int | None = None
    """Seconds without progress after which a migration is cancelled; 150 by default."""
    max_downtime_ms: int | None = None
    """Maximum downtime of the guest during the switch, in milliseconds; 900 by default."""
    allow_auto_converge: bool | None = None
    """Set to true to slow down a guest that writes memory faster than it can be copied; false by default."""
    allow_post_copy: bool | None = None
    """Set to true to allow post-copy, in which a lost connection crashes the guest."""
    allow_workload_disruption: bool | None = None
    """Set to true to complete a slow migration by post-copy or by pausing the guest, instead of cancelling it."""
    unsafe_migration_override: bool | None = None
    """Set to true to migrate even if checks report a risk for the guest; false by default."""
    disable_tls: bool | None = field(default=None, name="disableTLS")
    """Set to true to send the guest's memory unencrypted; false by default."""
    match_se_linux_level_on_migration: bool | None = field(default=None, name="matchSELinuxLevelOnMigration")
    """Whether the target pod has the source's SELinux level, which shared volumes may need; true by default."""
    network: str | None = None
    """Name of the network attachment to migrate over; the pod network by default."""
    node_drain_taint_key: str | None = None
    """Key of the taint that moves VMs off a node; kubevirt.io/drain by default."""
    utility_volumes_timeout: int | None = None
    """Seconds that a migration waits for utility volumes to be detached before it fails; 150 by default."""


class DowntimeTuningOptions(Model):
    """How the allowed downtime increases during a migration."""

    initial_ms: int | None = None
    """Downtime allowed at first, in milliseconds; 150 by default."""
    steps: Int32 | None = None
    """Number of equal steps up to maxDowntimeMs; 7 by default."""
    start_after_iteration: int | None = None
    """Rounds of memory copying before the first step; 3 by default."""
    cooldown_seconds: Int32 | None = None
    """Minimum seconds between two steps; 10 by default."""


class StallDetectorOptions(Model):
    """Detection and handling of stuck migrations."""

    stall_progress_timeout: int | None = None
    """Seconds within which a migration must make progress; 40 by default."""
    stall_margin: int | None = None
    """Percentage by which the remaining bytes must decrease to count as progress; 4 by default."""
    search_local_minima: bool | None = None
    """Whether a stuck migration waits for a moment with few remaining bytes; true by default."""
    patience_window_decay_factor: Quantity | None = None
    """Length of each wait as a fraction of the previous wait; 0.5 by default."""
    precopy_possible_factor: Quantity | None = None
    """Maximum ratio of expected downtime to maxDowntimeMs for a switch without post-copy; 1.5 by default."""
    switchover_timeout: int | None = None
    """Timeout of the switch to the target in seconds; 60 by default."""
    completion_timeout_factor: Quantity | None = None
    """Factor for the completion timeout if a switch is forced; 2 by default."""
    ewma_alpha: Quantity | None = None
    """Weight of the newest bandwidth sample in the running average, above 0 and up to 1; 0.4 by default."""


class ExperimentalMigrationOptions(Model):
    """Experimental migration settings."""

    compression: str | None = None
    """Algorithm that compresses the copied memory; none by default."""
    downtime_tuning: DowntimeTuningOptions | None = None
    """How the allowed downtime increases during a migration."""
    stall_detector: StallDetectorOptions | None = None
    """Detection of stuck migrations."""


class VMIMConfigurationOptions(MigrationConfiguration):
    """The effective settings of a migration: the cluster's settings, modified by a migration policy."""

    experimental: ExperimentalMigrationOptions | None = None
    """Experimental settings of the migration."""


class VirtualMachineInstanceMigrationSourceState(Model):
    """State of the migration source."""

    node: str | None = None
    """Name of the source node."""
    pod: str | None = None
    """Name of the source pod."""
    migration_uid: str | None = field(default=None, name="migrationUID")
    """UID of the migration object on the source's side."""
    virtual_machine_instance_uid: str | None = field(default=None, name="virtualMachineInstanceUID")
    """UID of the instance on the source's side."""
    domain_name: str | None = None
    """Name of the libvirt domain."""
    domain_namespace: str | None = None
    """Namespace that is part of the domain's name and paths."""
    node_selectors: dict[str, str] | None = None
    """Labels that the target node must have to run the guest."""
    persistent_state_pvc_name: str | None = field(default=None, name="persistentStatePVCName")
    """Claim with the TPM and EFI state, if it is persistent."""
    selinux_context: str | None = None
    """SELinux context that the pod runs in."""
    sync_address: str | None = None
    """Address, as host:port, for the exchange of status with the target."""


class VirtualMachineInstanceMigrationTargetState(Model):
    """State of the migration target."""

    node: str | None = None
    """Name of the target node."""
    node_address: str | None = None
    """Address on the target node to which the guest's memory is sent."""
    direct_migration_node_ports: dict[str, Int32] | None = None
    """Ports that are open on the target node, each mapped to its migration port."""
    pod: str | None = None
    """Name of the target pod."""
    attachment_pod_uid: str | None = field(default=None, name="attachmentPodUID")
    """UID of the pod with the hotplugged volumes."""
    migration_uid: str | None = field(default=None, name="migrationUID")
    """UID of the migration object on the target's side."""
    virtual_machine_instance_uid: str | None = field(default=None, name="virtualMachineInstanceUID")
    """UID of the instance on the target's side."""
    domain_name: str | None = None
    """Name of the libvirt domain."""
    domain_namespace: str | None = None
    """Namespace that is part of the domain's name and paths."""
    domain_detected: bool | None = None
    """True once the domain has appeared on the target."""
    domain_ready_timestamp: Time | None = None
    """When the domain started to run on the target."""
    cpu_set: list[Int32] | None = None
    """Host CPUs reserved for the vCPUs, if they are dedicated."""
    node_topology: str | None = None
    """NUMA layout of the node as JSON, if CPUs are dedicated."""
    persistent_state_pvc_name: str | None = field(default=None, name="persistentStatePVCName")
    """Claim with the TPM and EFI state, if it is persistent."""
    selinux_context: str | None = None
    """SELinux context that the pod runs in."""
    sync_address: str | None = None
    """Address, as host:port, for the exchange of status with the source."""


class VirtualMachineInstanceMigrationState(Model):
    """Progress of an instance's current or last live migration."""

    migration_uid: str | None = None
    """UID of the migration object."""
    start_timestamp: Time | None = None
    """When the migration began."""
    end_timestamp: Time | None = None
    """When the migration ended."""
    completed: bool | None = None
    """True once the migration has ended, successfully or not."""
    failed: bool | None = None
    """True if the migration failed; the guest then stays on the source."""
    failure_reason: str | None = None
    """Why the migration failed."""
    abort_requested: bool | None = None
    """True after cancellation was requested."""
    abort_status: str | None = None
    """State of the cancellation: Aborting, Succeeded or Failed."""
    mode: str | None = None
    """How memory is copied: PreCopy, PostCopy or Paused."""
    migration_configuration: VMIMConfigurationOptions | None = None
    """The effective settings of the migration."""
    migration_policy_name: str | None = None
    """Policy that modified the settings, if any."""
    migration_network_type: str | None = None
    """Network of the migration: pod or migration."""
    source_node: str | None = None
    """Name of the source node."""
    source_pod: str | None = None
    """Name of the source pod."""
    source_persistent_state_pvc_name: str | None = field(default=None, name="sourcePersistentStatePVCName")
    """Claim with the TPM and EFI state on the source, if it is persistent."""
    source_state: VirtualMachineInstanceMigrationSourceState | None = None
    """State of the source."""
    target_node: str | None = None
    """Name of the target node."""
    target_node_address: str | None = None
    """Address on the target node to which the guest's memory is sent."""
    target_direct_migration_node_ports: dict[str, Int32] | None = None
    """Ports that are open on the target node, each mapped to its migration port."""
    target_pod: str | None = None
    """Name of the target pod."""
    target_attachment_pod_uid: str | None = field(default=None, name="targetAttachmentPodUID")
    """UID of the pod with the hotplugged volumes on the target."""
    target_node_domain_detected: bool | None = None
    """True once the domain has appeared on the target."""
    target_node_domain_ready_timestamp: Time | None = None
    """When the domain started to run on the target."""
    target_cpu_set: list[Int32] | None = field(default=None, name="targetCPUSet")
    """Host CPUs reserved on the target, if they are dedicated."""
    target_node_topology: str | None = None
    """NUMA layout of the target as JSON, if CPUs are dedicated."""
    target_memory_overhead: Quantity | None = None
    """Memory overhead of the target's pod."""
    target_persistent_state_pvc_name: str | None = field(default=None, name="targetPersistentStatePVCName")
    """Claim with the TPM and EFI state on the target, if it is persistent."""
    target_state: VirtualMachineInstanceMigrationTargetState | None = None
    """State of the target."""

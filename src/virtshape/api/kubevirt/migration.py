"""
Structs of live migration: settings, and the state that an instance reports.

Source and target report separately, since they may be in different clusters.
"""

from msgspec import field

from virtshape.api.model import Int32, Model, Time
from virtshape.api.quantity import Quantity


class MigrationConfiguration(Model):
    """How live migrations behave."""

    parallel_migrations_per_cluster: int | None = None
    """How many migrations may run at once in the whole cluster; 5 by default."""
    parallel_outbound_migrations_per_node: int | None = None
    """How many migrations may leave one node at once; 2 by default."""
    bandwidth_per_migration: Quantity | None = None
    """Maximum bytes per second of a migration, such as 64Mi; 0 (default) for no limit."""
    completion_timeout_per_gi_b: int | None = None
    """Seconds that a migration may take for each GiB to copy, 150 by default; the allow... fields say what follows."""
    progress_timeout: int | None = None
    """Seconds without any copied byte after which a migration is given up; 150 by default."""
    max_downtime_ms: int | None = None
    """Maximum downtime of the guest during the switch, in milliseconds; 900 by default."""
    allow_auto_converge: bool | None = None
    """Set true to slow down a guest that writes memory faster than it can be copied; false by default."""
    allow_post_copy: bool | None = None
    """Set true to let a late guest run on the target with memory still missing; a lost link then crashes it."""
    allow_workload_disruption: bool | None = None
    """Set true to finish a late migration by post-copy or by pausing the guest, instead of giving it up."""
    unsafe_migration_override: bool | None = None
    """Set true to migrate even where checks find that the guest could be damaged; false by default."""
    disable_tls: bool | None = field(default=None, name="disableTLS")
    """Set true to send the guest's memory unencrypted; false by default."""
    match_se_linux_level_on_migration: bool | None = field(default=None, name="matchSELinuxLevelOnMigration")
    """Whether the target pod takes over the source's SELinux level, as shared volumes may need; true by default."""
    network: str | None = None
    """Name of the network attachment to migrate over; the pod network by default."""
    node_drain_taint_key: str | None = None
    """Key of the taint that moves VMs off a node; kubevirt.io/drain by default."""
    utility_volumes_timeout: int | None = None
    """Seconds that a migration waits for utility volumes to be detached before it fails; 150 by default."""


class DowntimeTuningOptions(Model):
    """How the allowed downtime grows while a migration does not get done."""

    initial_ms: int | None = None
    """Downtime allowed at first, in milliseconds; 150 by default."""
    steps: Int32 | None = None
    """In how many equal steps it grows to maxDowntimeMs; 7 by default."""
    start_after_iteration: int | None = None
    """How many rounds of memory copying come before the first step; 3 by default."""
    cooldown_seconds: Int32 | None = None
    """Least seconds between two steps; 10 by default."""


class StallDetectorOptions(Model):
    """When a migration counts as stuck, and what is done then."""

    stall_progress_timeout: int | None = None
    """Seconds to look back for progress; 40 by default."""
    stall_margin: int | None = None
    """Percent by which the bytes left must beat the best so far to count as progress; 4 by default."""
    search_local_minima: bool | None = None
    """Whether to wait, once stuck, for a moment when few bytes are left; true by default."""
    patience_window_decay_factor: Quantity | None = None
    """How much the wait shrinks each time that no such moment came; 0.5 by default."""
    precopy_possible_factor: Quantity | None = None
    """Largest ratio of expected downtime to maxDowntimeMs at which a plain switch is still tried; 1.5 by default."""
    switchover_timeout: int | None = None
    """Seconds that the switch to the target may take before the migration is given up; 60 by default."""
    completion_timeout_factor: Quantity | None = None
    """Factor on the completion timeout when a switch is forced; 2 by default."""
    ewma_alpha: Quantity | None = None
    """Weight of the newest bandwidth sample in the running average, above 0 and up to 1; 0.4 by default."""


class ExperimentalMigrationOptions(Model):
    """Migration settings that may change or vanish."""

    compression: str | None = None
    """Algorithm that compresses the copied memory; none by default."""
    downtime_tuning: DowntimeTuningOptions | None = None
    """How the allowed downtime grows."""
    stall_detector: StallDetectorOptions | None = None
    """When a migration counts as stuck."""


class VMIMConfigurationOptions(MigrationConfiguration):
    """The effective settings of a migration: those of the cluster, changed by a policy."""

    experimental: ExperimentalMigrationOptions | None = None
    """Settings that may change or vanish."""


class VirtualMachineInstanceMigrationSourceState(Model):
    """What the side that the instance leaves reports."""

    node: str | None = None
    """The node it leaves."""
    pod: str | None = None
    """The pod it leaves."""
    migration_uid: str | None = field(default=None, name="migrationUID")
    """UID of the migration object on this side."""
    virtual_machine_instance_uid: str | None = field(default=None, name="virtualMachineInstanceUID")
    """UID of the instance on this side."""
    domain_name: str | None = None
    """Name of the libvirt domain."""
    domain_namespace: str | None = None
    """Namespace that is part of the domain's name and paths."""
    node_selectors: dict[str, str] | None = None
    """Labels that the target node must have to run the guest."""
    persistent_state_pvc_name: str | None = field(default=None, name="persistentStatePVCName")
    """Claim that keeps the TPM and EFI state, if it is kept."""
    selinux_context: str | None = None
    """SELinux context that the pod runs in."""
    sync_address: str | None = None
    """host:port at which the other side exchanges status."""


class VirtualMachineInstanceMigrationTargetState(Model):
    """What the side that the instance moves to reports."""

    node: str | None = None
    """The node it moves to."""
    node_address: str | None = None
    """Address of that node for the copied memory."""
    direct_migration_node_ports: dict[str, Int32] | None = None
    """Ports open on that node, each with the migration port it stands for."""
    pod: str | None = None
    """The pod it moves to."""
    attachment_pod_uid: str | None = field(default=None, name="attachmentPodUID")
    """UID of the pod that holds the hotplugged volumes."""
    migration_uid: str | None = field(default=None, name="migrationUID")
    """UID of the migration object on this side."""
    virtual_machine_instance_uid: str | None = field(default=None, name="virtualMachineInstanceUID")
    """UID of the instance on this side."""
    domain_name: str | None = None
    """Name of the libvirt domain."""
    domain_namespace: str | None = None
    """Namespace that is part of the domain's name and paths."""
    domain_detected: bool | None = None
    """True once the domain has appeared here."""
    domain_ready_timestamp: Time | None = None
    """When the domain began to run here."""
    cpu_set: list[Int32] | None = None
    """Host CPUs set aside for the vCPUs, if they are dedicated."""
    node_topology: str | None = None
    """NUMA layout of the node as JSON, if CPUs are dedicated."""
    persistent_state_pvc_name: str | None = field(default=None, name="persistentStatePVCName")
    """Claim that keeps the TPM and EFI state, if it is kept."""
    selinux_context: str | None = None
    """SELinux context that the pod runs in."""
    sync_address: str | None = None
    """host:port at which the other side exchanges status."""


class VirtualMachineInstanceMigrationState(Model):
    """Progress of an instance's current or last live migration."""

    migration_uid: str | None = None
    """UID of the migration object."""
    start_timestamp: Time | None = None
    """When it began."""
    end_timestamp: Time | None = None
    """When it ended."""
    completed: bool | None = None
    """True once it ended, well or badly."""
    failed: bool | None = None
    """True if it failed; the guest then stays on its source."""
    failure_reason: str | None = None
    """Why it failed."""
    abort_requested: bool | None = None
    """True after cancellation was requested."""
    abort_status: str | None = None
    """How calling it off went: Aborting, Succeeded or Failed."""
    mode: str | None = None
    """How memory is copied: PreCopy, PostCopy, or Paused with the guest standing still."""
    migration_configuration: VMIMConfigurationOptions | None = None
    """The settings in force."""
    migration_policy_name: str | None = None
    """Policy that changed the settings, if one applies."""
    migration_network_type: str | None = None
    """Over which network: pod or migration."""
    source_node: str | None = None
    """The node it leaves."""
    source_pod: str | None = None
    """The pod it leaves."""
    source_persistent_state_pvc_name: str | None = field(default=None, name="sourcePersistentStatePVCName")
    """Claim with the TPM and EFI state on the source, if it is kept."""
    source_state: VirtualMachineInstanceMigrationSourceState | None = None
    """What the source reports."""
    target_node: str | None = None
    """The node it moves to."""
    target_node_address: str | None = None
    """Address of that node for the copied memory."""
    target_direct_migration_node_ports: dict[str, Int32] | None = None
    """Ports open on that node, each with the migration port it stands for."""
    target_pod: str | None = None
    """The pod it moves to."""
    target_attachment_pod_uid: str | None = field(default=None, name="targetAttachmentPodUID")
    """UID of the pod that holds the hotplugged volumes on the target."""
    target_node_domain_detected: bool | None = None
    """True once the domain has appeared on the target."""
    target_node_domain_ready_timestamp: Time | None = None
    """When the domain began to run on the target."""
    target_cpu_set: list[Int32] | None = field(default=None, name="targetCPUSet")
    """Host CPUs set aside on the target, if they are dedicated."""
    target_node_topology: str | None = None
    """NUMA layout of the target as JSON, if CPUs are dedicated."""
    target_memory_overhead: Quantity | None = None
    """Memory that the target's pod needs beyond the guest's."""
    target_persistent_state_pvc_name: str | None = field(default=None, name="targetPersistentStatePVCName")
    """Claim with the TPM and EFI state on the target, if it is kept."""
    target_state: VirtualMachineInstanceMigrationTargetState | None = None
    """What the target reports."""

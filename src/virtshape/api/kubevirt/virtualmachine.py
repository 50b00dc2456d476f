"""
Structs for VirtualMachines. A VM has a template, references to an instance type and a preference, and a run strategy.

Unlike its instance, a VM exists while it is stopped, and keeps its identity and disks.
"""

from typing import Final

from msgspec import field

from virtshape.api.cdi import DataVolumeSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.status import ChangedBlockTrackingStatus, StorageMigratedVolumeInfo
from virtshape.api.kubevirt.volume import AddVolumeOptions, RemoveVolumeOptions
from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata, ObjectMeta
from virtshape.api.model import Int32, Model, Time
from virtshape.api.quantity import Quantity

ALWAYS: Final = "Always"
HALTED: Final = "Halted"
MANUAL: Final = "Manual"
ONCE: Final = "Once"
RERUN_ON_FAILURE: Final = "RerunOnFailure"
START: Final = "Start"
STOP: Final = "Stop"


class DataVolumeTemplateDummyStatus(Model):
    """A status that is ignored, so that a complete DataVolume can be used as a template."""


class DataVolumeTemplateSpec(Model, kw_only=True):
    """A DataVolume that is created together with the VM and deleted with it."""

    api_version: str | None = None
    """The group and version, `cdi.kubevirt.io/v1beta1`; may be omitted."""
    kind: str | None = None
    """The kind, `DataVolume`; may be omitted."""
    metadata: ObjectMeta | None = None
    """Name, labels and annotations of the DataVolume; a volume of the VM refers to it by this name."""
    spec: DataVolumeSpec
    """Source and storage of the DataVolume."""
    status: DataVolumeTemplateDummyStatus | None = None
    """Ignored; accepted so that a complete DataVolume can be used as a template."""


class InstancetypeMatcher(Model):
    """Reference to the instance type: by name, or inferred from a volume."""

    name: str | None = None
    """Name of the instance type, for example `u1.medium`. Mutually exclusive with `inferFromVolume`."""
    kind: str | None = None
    """Kind: `VirtualMachineClusterInstancetype` (default), or `VirtualMachineInstancetype` in the VM's namespace."""
    revision_name: str | None = None
    """ControllerRevision with the copy in use, set by the controller. Remove it to use the live instance type."""
    infer_from_volume: str | None = None
    """A volume of this VM whose annotations or labels set the instance type; replaced by name and kind on creation."""
    infer_from_volume_failure_policy: str | None = None
    """If the inference fails: `Reject` (default) rejects the VM, `Ignore` continues without an instance type."""


class PreferenceMatcher(Model):
    """Reference to the preference: by name, or inferred from a volume."""

    name: str | None = None
    """Name of the preference, for example `fedora`. Mutually exclusive with `inferFromVolume`."""
    kind: str | None = None
    """Kind: `VirtualMachineClusterPreference` (default), or `VirtualMachinePreference` in the VM's namespace."""
    revision_name: str | None = None
    """ControllerRevision with the copy in use, set by the controller. Remove it to use the live preference."""
    infer_from_volume: str | None = None
    """A volume of this VM whose annotations or labels set the preference; replaced by name and kind on creation."""
    infer_from_volume_failure_policy: str | None = None
    """If the inference fails: `Reject` (default) rejects the VM, `Ignore` continues without a preference."""


class FlavorMatcher(Model):
    """Reference to a flavor in the group `flavor.kubevirt.io`."""

    name: str | None = None
    """Name of the flavor."""
    kind: str | None = None
    """Kind: `VirtualMachineClusterFlavor` (default), or `VirtualMachineFlavor` in the VM's namespace."""
    revision_name: str | None = None
    """ControllerRevision with the copy in use, set by the controller. Remove it to use the live flavor."""


class VirtualMachineInstanceTemplateSpec(Model):
    """Template for the instance, before the instance type and the preference are applied."""

    metadata: ObjectMeta | None = None
    """Labels and annotations for the instance; its name is always the VM's."""
    spec: VirtualMachineInstanceSpec | None = None
    """The instance's spec; it must not set fields that the instance type sets."""


class VirtualMachineSpec(Model, kw_only=True):
    """Desired state of a VM: run strategy, size and template."""

    run_strategy: str | None = None
    """
    Run strategy: `Always`, `Halted`, `Manual`, `RerunOnFailure`, `Once` or `WaitAsReceiver`.

    Required unless `running` is set.
    """
    running: bool | None = None
    """Older form of `runStrategy`: `true` is `Always`, `false` is `Halted`. Mutually exclusive with `runStrategy`."""
    instancetype: InstancetypeMatcher | None = None
    """Instance type that sets the VM's vCPUs, memory and devices. Mutually exclusive with `flavor`."""
    flavor: FlavorMatcher | None = None
    """Flavor of the VM, from the older group `flavor.kubevirt.io`. Mutually exclusive with `instancetype`."""
    preference: PreferenceMatcher | None = None
    """Preference with default values for the guest. If `flavor` is set, it is a preference in the flavor group."""
    template: VirtualMachineInstanceTemplateSpec
    """Template for the instance; changes take effect at the next start."""
    data_volume_templates: list[DataVolumeTemplateSpec] | None = None
    """DataVolumes that are created and deleted with the VM."""
    update_volumes_strategy: str | None = None
    """When volumes are replaced: at the next start (`Replacement`, default), or by live copying (`Migration`)."""


class VirtualMachineCondition(Model):
    """A condition of the VM."""

    type: str
    """Type of the condition, for example `Ready`, `Failure` or `RestartRequired`."""
    status: str
    """Status of the condition: `True`, `False` or `Unknown`."""
    reason: str | None = None
    """Reason for the status, in CamelCase."""
    message: str | None = None
    """Human-readable details of the condition."""
    last_probe_time: Time | None = None
    """When the condition was last checked."""
    last_transition_time: Time | None = None
    """When `status` last changed."""


class ControllerRevisionRef(Model):
    """Reference to a stored copy of an instance type, flavor or preference."""

    name: str | None = None
    """Name of the ControllerRevision, in the VM's namespace."""


class InstancetypeStatusRef(Model):
    """The instance type, flavor or preference in use, and the stored copy of it."""

    name: str | None = None
    """Name of the object."""
    kind: str | None = None
    """Kind of the object, cluster-wide or namespaced."""
    controller_revision_ref: ControllerRevisionRef | None = None
    """The copy that restarts use, even if the object changes or is deleted."""
    infer_from_volume: str | None = None
    """The volume that the object was inferred from, if any."""
    infer_from_volume_failure_policy: str | None = None
    """Failure policy of the inference, `Reject` or `Ignore`."""


class VirtualMachineMemoryDumpRequest(Model):
    """A requested or completed memory dump of the guest."""

    claim_name: str
    """PersistentVolumeClaim that receives the dump."""
    phase: str
    """Phase: `Associating`, `InProgress`, `Unmounting`, `Completed`, `Dissociating` or `Failed`."""
    file_name: str | None = None
    """Name of the dump file on the claim."""
    start_timestamp: Time | None = None
    """When the dump began."""
    end_timestamp: Time | None = None
    """When the dump was finished."""
    message: str | None = None
    """Why the dump failed."""
    remove: bool | None = None
    """`true` if the claim is being detached from the VM; the dump is kept."""


class VirtualMachineStartFailure(Model):
    """Consecutive failed starts, and the time of the next attempt."""

    consecutive_fail_count: Int32 | None = None
    """Failed starts since the last successful one; each failure increases the delay before the next attempt."""
    last_failed_vmi_uid: str | None = field(default=None, name="lastFailedVMIUID")
    """UID of the instance that failed last."""
    retry_after_timestamp: Time | None = None
    """Earliest time of the next attempt to start the VM."""


class VirtualMachineStateChangeRequest(Model):
    """A pending request to start or stop the VM."""

    action: str
    """The requested action: `Start` or `Stop`."""
    data: dict[str, str] | None = None
    """Details of the action, for example that the VM starts paused."""
    uid: str | None = None
    """UID of the instance to stop; absent for a start."""


class VirtualMachineVolumeRequest(Model):
    """A pending request to plug or unplug a volume; exactly one field is set."""

    add_volume_options: AddVolumeOptions | None = None
    """The volume to plug in."""
    remove_volume_options: RemoveVolumeOptions | None = None
    """The volume to unplug."""


class VolumeSnapshotStatus(Model):
    """Whether a volume of the VM can be snapshotted."""

    name: str
    """Name of the volume."""
    enabled: bool
    """`true` if the volume's storage supports snapshots."""
    reason: str | None = None
    """Why the volume cannot be snapshotted."""


class VolumeMigrationState(Model):
    """A migration of the VM's disks to other storage."""

    migrated_volumes: list[StorageMigratedVolumeInfo] | None = None
    """The migrating volumes, each with its old and its new claim."""


class VolumeUpdateState(Model):
    """State of a replacement of volumes that is in progress."""

    volume_migration_state: VolumeMigrationState | None = None
    """The migration of volumes that the update strategy `Migration` requires."""


class EffectiveSize(Model):
    """The current size of the VM, or its size at the next start, with the instance type and preference applied."""

    vcpus: int | None = None
    """Number of vCPUs of the guest."""
    memory: Quantity | None = None
    """Memory that the guest sees."""
    topology: str | None = None
    """Layout of the vCPUs as sockets x cores x threads, for example `2x1x2`."""


class VirtualMachineStatus(Model):
    """Observed state of the VM; written by the controllers."""

    printable_status: str | None = None
    """The state that `kubectl get` shows, such as `Stopped`, `Starting`, `Running` or `Paused`."""
    created: bool | None = None
    """`true` while an instance of the VM exists."""
    ready: bool | None = None
    """`true` while the instance runs and its readiness check, if any, succeeds."""
    run_strategy: str | None = None
    """The run strategy that was last applied."""
    effective: EffectiveSize | None = None
    """The resulting vCPUs, memory and topology; set before the first start."""
    instancetype_ref: InstancetypeStatusRef | None = None
    """The instance type in use and its revision."""
    flavor_ref: InstancetypeStatusRef | None = None
    """The flavor in use and its revision."""
    preference_ref: InstancetypeStatusRef | None = None
    """The preference in use and its revision."""
    conditions: list[VirtualMachineCondition] | None = None
    """Current conditions, one per type."""
    observed_generation: int | None = None
    """Generation of the VM that the running instance was started from."""
    desired_generation: int | None = None
    """Generation of the VM that the next start will use; above `observedGeneration` after an edit."""
    start_failure: VirtualMachineStartFailure | None = None
    """Present while starts keep failing."""
    state_change_requests: list[VirtualMachineStateChangeRequest] | None = None
    """Pending starts and stops, in order; a restart is a stop and a start."""
    volume_requests: list[VirtualMachineVolumeRequest] | None = None
    """Pending requests to plug or unplug volumes."""
    volume_snapshot_statuses: list[VolumeSnapshotStatus] | None = None
    """Whether each volume can be snapshotted."""
    volume_update_state: VolumeUpdateState | None = None
    """Present while volumes are being replaced."""
    snapshot_in_progress: str | None = None
    """Name of the snapshot that is being taken of the VM."""
    restore_in_progress: str | None = None
    """Name of the restore that is being applied to the VM."""
    memory_dump_request: VirtualMachineMemoryDumpRequest | None = None
    """The last requested memory dump."""
    changed_block_tracking: ChangedBlockTrackingStatus | None = None
    """Changed block tracking, and the state of backups."""


class VirtualMachine(KubernetesObject, kw_only=True):
    """A virtual machine, running or stopped."""

    api_version: str
    """Group and version of the API, `kubevirt.io/v1`."""
    kind: str
    """The kind of this object: `VirtualMachine`."""
    metadata: Metadata = NO_METADATA
    """Name, namespace, labels and annotations."""
    spec: VirtualMachineSpec
    """Desired state of the VM."""
    status: VirtualMachineStatus | None = None
    """Observed state of the VM; written by the controllers."""


def run_strategy(spec: VirtualMachineSpec) -> str:
    """Return the run strategy of a VM, from `runStrategy` or `running`."""
    if spec.run_strategy:
        return spec.run_strategy
    return ALWAYS if spec.running else HALTED

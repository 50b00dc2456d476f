from msgspec import field

from virtshape.api.cdi import DataVolumeSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.status import ChangedBlockTrackingStatus, StorageMigratedVolumeInfo
from virtshape.api.kubevirt.volume import AddVolumeOptions, RemoveVolumeOptions
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Int32, Model, Time
from virtshape.api.quantity import Quantity


class DataVolumeTemplateDummyStatus(Model):
    pass


class DataVolumeTemplateSpec(Model, kw_only=True):
    api_version: str | None = None
    kind: str | None = None
    metadata: ObjectMeta | None = None
    spec: DataVolumeSpec
    status: DataVolumeTemplateDummyStatus | None = None


class InstancetypeMatcher(Model):
    name: str | None = None
    infer_from_volume: str | None = None
    infer_from_volume_failure_policy: str | None = None
    kind: str | None = None
    revision_name: str | None = None


class PreferenceMatcher(Model):
    name: str | None = None
    infer_from_volume: str | None = None
    infer_from_volume_failure_policy: str | None = None
    kind: str | None = None
    revision_name: str | None = None


class FlavorMatcher(Model):
    name: str | None = None
    kind: str | None = None
    revision_name: str | None = None


class VirtualMachineInstanceTemplateSpec(Model):
    metadata: ObjectMeta | None = None
    spec: VirtualMachineInstanceSpec | None = None


class VirtualMachineSpec(Model):
    template: VirtualMachineInstanceTemplateSpec
    data_volume_templates: list[DataVolumeTemplateSpec] | None = None
    flavor: FlavorMatcher | None = None
    instancetype: InstancetypeMatcher | None = None
    preference: PreferenceMatcher | None = None
    run_strategy: str | None = None
    running: bool | None = None
    update_volumes_strategy: str | None = None


class VirtualMachineCondition(Model):
    type: str
    status: str
    last_probe_time: Time | None = None
    last_transition_time: Time | None = None
    message: str | None = None
    reason: str | None = None


class ControllerRevisionRef(Model):
    name: str | None = None


class InstancetypeStatusRef(Model):
    name: str | None = None
    controller_revision_ref: ControllerRevisionRef | None = None
    infer_from_volume: str | None = None
    infer_from_volume_failure_policy: str | None = None
    kind: str | None = None


class VirtualMachineMemoryDumpRequest(Model):
    claim_name: str
    phase: str
    end_timestamp: Time | None = None
    file_name: str | None = None
    message: str | None = None
    remove: bool | None = None
    start_timestamp: Time | None = None


class VirtualMachineStartFailure(Model):
    consecutive_fail_count: Int32 | None = None
    last_failed_vmi_uid: str | None = field(default=None, name="lastFailedVMIUID")
    retry_after_timestamp: Time | None = None


class VirtualMachineStateChangeRequest(Model):
    action: str
    data: dict[str, str] | None = None
    uid: str | None = None


class VirtualMachineVolumeRequest(Model):
    add_volume_options: AddVolumeOptions | None = None
    remove_volume_options: RemoveVolumeOptions | None = None


class VolumeSnapshotStatus(Model):
    name: str
    enabled: bool
    reason: str | None = None


class VolumeMigrationState(Model):
    migrated_volumes: list[StorageMigratedVolumeInfo] | None = None


class VolumeUpdateState(Model):
    volume_migration_state: VolumeMigrationState | None = None


class EffectiveSize(Model):
    vcpus: int | None = None
    memory: Quantity | None = None
    topology: str | None = None


class VirtualMachineStatus(Model):
    changed_block_tracking: ChangedBlockTrackingStatus | None = None
    conditions: list[VirtualMachineCondition] | None = None
    created: bool | None = None
    desired_generation: int | None = None
    effective: EffectiveSize | None = None
    flavor_ref: InstancetypeStatusRef | None = None
    instancetype_ref: InstancetypeStatusRef | None = None
    memory_dump_request: VirtualMachineMemoryDumpRequest | None = None
    observed_generation: int | None = None
    preference_ref: InstancetypeStatusRef | None = None
    printable_status: str | None = None
    ready: bool | None = None
    restore_in_progress: str | None = None
    run_strategy: str | None = None
    snapshot_in_progress: str | None = None
    start_failure: VirtualMachineStartFailure | None = None
    state_change_requests: list[VirtualMachineStateChangeRequest] | None = None
    volume_requests: list[VirtualMachineVolumeRequest] | None = None
    volume_snapshot_statuses: list[VolumeSnapshotStatus] | None = None
    volume_update_state: VolumeUpdateState | None = None


class VirtualMachine(Model, kw_only=True):
    api_version: str
    kind: str
    metadata: ObjectMeta | None = None
    spec: VirtualMachineSpec
    status: VirtualMachineStatus | None = None

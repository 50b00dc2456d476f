"""Columns of volumes, claims, storage classes, quotas, snapshots and DataVolumes."""

from virtshape.api.wellknown import DEFAULT_CLASS
from virtshape.apiserver.encoding.age import format_age
from virtshape.apiserver.encoding.columns.column import AGE, CUSTOM_AGE, NAME, Cell, Column, column, computed

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _show_modes(modes: list[str] | None) -> Cell:
    return ",".join(short for mode, short in _MODES.items() if mode in (modes or ()))


def _show_phase(phase: str | None, deleted: str | None) -> Cell:
    return "Terminating" if deleted else phase or ""


def _show_claim_modes(volume: str | None, modes: list[str] | None) -> Cell:
    return _show_modes(modes) if volume else ""


def _show_claim(namespace: str | None, name: str | None) -> Cell:
    return f"{namespace or ''}/{name}" if name else ""


def _show_or_empty(value: str | None) -> Cell:
    return value or ""


def _show_or_unset(value: str | None) -> Cell:
    return value or "<unset>"


def _show_flag(value: bool | None) -> Cell:
    return bool(value)


def _show_class_name(name: str, annotations: dict[str, str] | None) -> Cell:
    is_default = any((annotations or {}).get(key) == "true" for key in DEFAULT_CLASS)
    return f"{name} (default)" if is_default else name


def _show_class_policy(policy: str | None) -> Cell:
    return policy or "Delete"


def _show_binding_mode(mode: str | None) -> Cell:
    return mode or "Immediate"


def _show_requests(hard: dict[str, str] | None, used: dict[str, str] | None) -> Cell:
    return _show_quota(hard, used, limits=False)


def _show_limits(hard: dict[str, str] | None, used: dict[str, str] | None) -> Cell:
    return _show_quota(hard, used, limits=True)


def _show_quota(hard: dict[str, str] | None, used: dict[str, str] | None, *, limits: bool) -> Cell:
    names = sorted(name for name in hard or {} if name.startswith("limits.") is limits)
    return ", ".join(f"{name}: {(used or {}).get(name, '0')}/{(hard or {})[name]}" for name in names)


_PHASE = computed("Status", "Phase.", _show_phase, ".status.phase", ".metadata.deletionTimestamp")
_CLASS = computed("StorageClass", "Storage class.", _show_or_empty, ".spec.storageClassName")
_ATTRIBUTES = computed(
    "VolumeAttributesClass", "Volume attributes class.", _show_or_unset, ".spec.volumeAttributesClassName"
)
_VOLUME_MODE = computed("VolumeMode", "Filesystem or Block.", _show_or_unset, ".spec.volumeMode").wide
_CREATION = Column(
    "CreationTime", "date", (".status.creationTime",), "Time of the snapshot.", show=format_age, needs_clock=True
)

QUOTA = (
    NAME,
    computed("Request", "Usage of each quota on resource requests.", _show_requests, ".status.hard", ".status.used"),
    computed("Limit", "Usage of each quota on resource limits.", _show_limits, ".status.hard", ".status.used"),
    AGE,
)
CLAIM = (
    NAME,
    _PHASE,
    computed("Volume", "Bound volume.", _show_or_empty, ".spec.volumeName"),
    computed("Capacity", "Size of the volume.", _show_or_empty, ".status.capacity.storage"),
    computed("Access Modes", "Access modes.", _show_claim_modes, ".spec.volumeName", ".status.accessModes"),
    _CLASS,
    _ATTRIBUTES,
    AGE,
    _VOLUME_MODE,
)
VOLUME = (
    NAME,
    computed("Capacity", "Size of the volume.", _show_or_empty, ".spec.capacity.storage"),
    computed("Access Modes", "Access modes.", _show_modes, ".spec.accessModes"),
    computed("Reclaim Policy", "Reclaim policy.", _show_or_empty, ".spec.persistentVolumeReclaimPolicy"),
    _PHASE,
    computed("Claim", "Bound claim.", _show_claim, ".spec.claimRef.namespace", ".spec.claimRef.name"),
    _CLASS,
    _ATTRIBUTES,
    computed("Reason", "Reason for the phase.", _show_or_empty, ".status.reason"),
    AGE,
    _VOLUME_MODE,
)
STORAGE_CLASS = (
    NAME._replace(paths=(".metadata.name", ".metadata.annotations"), show=_show_class_name),
    column("Provisioner", ".provisioner", "Provisioner of this class."),
    computed("ReclaimPolicy", "Reclaim policy for volumes of this class.", _show_class_policy, ".reclaimPolicy"),
    computed("VolumeBindingMode", "Volume binding mode.", _show_binding_mode, ".volumeBindingMode"),
    computed(
        "AllowVolumeExpansion", "Whether volumes can be expanded.", _show_flag, ".allowVolumeExpansion", type_="boolean"
    ),
    AGE,
)
DATA_VOLUME = (
    NAME,
    column("Phase", ".status.phase", "Phase of the import or clone."),
    column("Progress", ".status.progress", "Progress, if known."),
    column("Restarts", ".status.restartCount", "Number of restarts.", "integer"),
    CUSTOM_AGE,
)
SNAPSHOT = (
    NAME,
    column("ReadyToUse", ".status.readyToUse", "Whether a volume can be created from the snapshot.", "boolean"),
    column("SourcePVC", ".spec.source.persistentVolumeClaimName", "Source claim of the snapshot."),
    column("SourceSnapshotContent", ".spec.source.volumeSnapshotContentName", "Existing content of the snapshot."),
    column("RestoreSize", ".status.restoreSize", "Minimum size of a restored volume."),
    column("SnapshotClass", ".spec.volumeSnapshotClassName", "Class of the snapshot."),
    column("SnapshotContent", ".status.boundVolumeSnapshotContentName", "Bound snapshot content."),
    _CREATION,
    CUSTOM_AGE,
)

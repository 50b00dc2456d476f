"""Columns of volumes, claims, storage classes, snapshots and DataVolumes."""

from virtshape.apiserver.encoding.age import format_age
from virtshape.apiserver.encoding.columns.column import Cell, Column, column, computed
from virtshape.apiserver.encoding.columns.standard import AGE, CUSTOM_AGE, NAME

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


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
    is_default = any((annotations or {}).get(key) == "true" for key in _DEFAULT_CLASS)
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


_PHASE = computed("Status", "How far it has come.", _show_phase, ".status.phase", ".metadata.deletionTimestamp")
_CLASS = computed("StorageClass", "Its storage class.", _show_or_empty, ".spec.storageClassName")
_ATTRIBUTES = computed(
    "VolumeAttributesClass", "Its class of volume attributes.", _show_or_unset, ".spec.volumeAttributesClassName"
)
_VOLUME_MODE = computed("VolumeMode", "A file system or a block device.", _show_or_unset, ".spec.volumeMode").wide
_CREATION = Column(
    "CreationTime", "date", (".status.creationTime",), "When the copy was made.", show=format_age, needs_clock=True
)

QUOTA = (
    NAME,
    computed("Request", "What is used of each limit on requests.", _show_requests, ".status.hard", ".status.used"),
    computed("Limit", "What is used of each limit on limits.", _show_limits, ".status.hard", ".status.used"),
    AGE,
)
CLAIM = (
    NAME,
    _PHASE,
    computed("Volume", "The volume bound to it.", _show_or_empty, ".spec.volumeName"),
    computed("Capacity", "Size of the volume.", _show_or_empty, ".status.capacity.storage"),
    computed("Access Modes", "How it may be used.", _show_claim_modes, ".spec.volumeName", ".status.accessModes"),
    _CLASS,
    _ATTRIBUTES,
    AGE,
    _VOLUME_MODE,
)
VOLUME = (
    NAME,
    computed("Capacity", "Its size.", _show_or_empty, ".spec.capacity.storage"),
    computed("Access Modes", "How it may be used.", _show_modes, ".spec.accessModes"),
    computed("Reclaim Policy", "What becomes of it afterwards.", _show_or_empty, ".spec.persistentVolumeReclaimPolicy"),
    _PHASE,
    computed("Claim", "The claim bound to it.", _show_claim, ".spec.claimRef.namespace", ".spec.claimRef.name"),
    _CLASS,
    _ATTRIBUTES,
    computed("Reason", "Why it is in that state.", _show_or_empty, ".status.reason"),
    AGE,
    _VOLUME_MODE,
)
STORAGE_CLASS = (
    NAME._replace(paths=(".metadata.name", ".metadata.annotations"), show=_show_class_name),
    column("Provisioner", ".provisioner", "Who makes its volumes."),
    computed("ReclaimPolicy", "What becomes of a volume afterwards.", _show_class_policy, ".reclaimPolicy"),
    computed("VolumeBindingMode", "When a volume is made.", _show_binding_mode, ".volumeBindingMode"),
    computed("AllowVolumeExpansion", "Whether volumes can grow.", _show_flag, ".allowVolumeExpansion", type_="boolean"),
    AGE,
)
DATA_VOLUME = (
    NAME,
    column("Phase", ".status.phase", "How far filling the volume has come."),
    column("Progress", ".status.progress", "How much of the data is there, as far as known."),
    column("Restarts", ".status.restartCount", "How often filling it was begun anew.", "integer"),
    CUSTOM_AGE,
)
SNAPSHOT = (
    NAME,
    column("ReadyToUse", ".status.readyToUse", "Whether a volume can be made from it.", "boolean"),
    column("SourcePVC", ".spec.source.persistentVolumeClaimName", "The claim that it is a copy of."),
    column("SourceSnapshotContent", ".spec.source.volumeSnapshotContentName", "The copy that it stands for."),
    column("RestoreSize", ".status.restoreSize", "The least size of a volume made from it."),
    column("SnapshotClass", ".spec.volumeSnapshotClassName", "Its class."),
    column("SnapshotContent", ".status.boundVolumeSnapshotContentName", "The copy bound to it."),
    _CREATION,
    CUSTOM_AGE,
)

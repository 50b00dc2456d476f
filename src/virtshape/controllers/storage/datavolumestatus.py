"""
Status of a DataVolume: CDI's phases, progress and conditions.

The functions are pure.
"""

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from virtshape.api.cdi import DataVolume, DataVolumeCondition, DataVolumeSource, DataVolumeStatus
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.controllers.storage.protocol import JobStatus
from virtshape.controllers.storage.sources import SourceProblem
from virtshape.engine.claims import count_attempts, is_bound

TransferMethod = Literal["Import", "Clone", "Upload"]
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
FINAL_PHASES: Final = frozenset({SUCCEEDED, FAILED})
UNKNOWN_PROGRESS: Final = "N/A"
FIRST_RETRY_SECONDS: Final = 1.0
MAX_RETRY_SECONDS: Final = 300.0


class DataVolumeObservation(Struct, kw_only=True):
    """Everything that the status of a DataVolume depends on, except the DataVolume itself."""

    claim: PersistentVolumeClaim | None = None
    method: TransferMethod = "Import"
    """How the volume is populated."""
    waits_for_consumer: bool = False
    """True if the claim waits for its first consumer."""
    filled: bool = False
    """True if the volume is populated."""
    work: JobStatus | None = None
    """Status of the transfer, once it has started."""
    problem: SourceProblem | None = None
    """Why the transfer cannot start."""


def get_transfer_method(source: DataVolumeSource | None) -> TransferMethod:
    """Return how a volume is populated from a source; an unresolved source (None) counts as a clone."""
    if source is None or source.pvc is not None or source.snapshot is not None:
        return "Clone"
    return "Upload" if source.upload is not None else "Import"


def is_finished(volume: DataVolume) -> bool:
    """Return True if the DataVolume has succeeded or failed for good."""
    return volume.status is not None and volume.status.phase in FINAL_PHASES


def retry_delay(attempts: int) -> float:
    """Return the delay in seconds before the next transfer, after this many earlier attempts."""
    return float(min(FIRST_RETRY_SECONDS * 2.0 ** min(attempts, 16), MAX_RETRY_SECONDS))


def make_data_volume_status(volume: DataVolume, seen: DataVolumeObservation, stamp: str) -> DataVolumeStatus:
    """Return the status of a DataVolume; `stamp` is the current time as a string."""
    before = volume.status or DataVolumeStatus()
    phase = decide_phase(seen)
    failures = count_attempts(volume) + int(seen.work is not None and seen.work.state == "failed")
    conditions = [_bound(seen), _ready(phase, seen), _running(phase, seen)]
    return replace(
        before,
        claim_name=seen.claim.metadata.name if seen.claim is not None else before.claim_name,
        phase=phase,
        progress=_show_progress(phase, seen),
        restart_count=failures or None,
        conditions=[stamp_condition(before, condition, stamp) for condition in conditions],
    )


def decide_phase(seen: DataVolumeObservation) -> str:
    """Return the phase of a DataVolume."""
    work, problem = seen.work, seen.problem
    if _is_lost(seen.claim) or (problem is not None and problem.final) or (work is not None and work.final):
        return FAILED
    if work is None and (seen.claim is None or not is_bound(seen.claim)):
        return "WaitForFirstConsumer" if seen.waits_for_consumer else "Pending"
    if seen.filled:
        return SUCCEEDED
    if seen.method == "Upload":
        return "UploadScheduled" if work is None else "UploadReady"
    if work is None and problem is None:
        return "PVCBound"
    return f"{seen.method}Scheduled" if work is None or work.state == "waiting" else f"{seen.method}InProgress"


def _is_lost(claim: PersistentVolumeClaim | None) -> bool:
    return claim is not None and claim.status is not None and claim.status.phase == "Lost"


def _show_progress(phase: str, seen: DataVolumeObservation) -> str:
    if phase == SUCCEEDED:
        return "100.0%"
    if seen.work is None or seen.work.progress is None:
        return UNKNOWN_PROGRESS
    return f"{min(seen.work.progress, 99.99):.2f}%"


def _bound(seen: DataVolumeObservation) -> DataVolumeCondition:
    claim = seen.claim
    if claim is None:
        return DataVolumeCondition("Bound", "Unknown", reason="NotFound", message="No PVC found")
    name = claim.metadata.name
    if _is_lost(claim):
        return DataVolumeCondition("Bound", "False", reason="ClaimLost", message=f"PVC {name} Lost")
    bound = is_bound(claim)
    word = "Bound" if bound else "Pending"
    return DataVolumeCondition("Bound", "True" if bound else "False", reason=word, message=f"PVC {name} {word}")


def _ready(phase: str, seen: DataVolumeObservation) -> DataVolumeCondition:
    if phase == SUCCEEDED:
        return DataVolumeCondition("Ready", "True")
    running = seen.work is not None and seen.work.state == "running"
    return DataVolumeCondition("Ready", "False", reason="TransferRunning" if running else None)


def _running(phase: str, seen: DataVolumeObservation) -> DataVolumeCondition:
    work, problem = seen.work, seen.problem
    if phase == SUCCEEDED:
        return DataVolumeCondition("Running", "False", reason="Completed", message=f"{seen.method} Complete")
    if work is not None and work.state == "failed":
        return DataVolumeCondition("Running", "False", reason="Error", message=work.message)
    if problem is not None:
        return DataVolumeCondition("Running", "False", reason=problem.reason, message=problem.message)
    if work is not None and work.state == "running":
        return DataVolumeCondition("Running", "True", reason="TransferRunning")
    return DataVolumeCondition("Running", "False", message=work.message or None if work is not None else None)


def stamp_condition(before: DataVolumeStatus, wanted: DataVolumeCondition, stamp: str) -> DataVolumeCondition:
    """Return the condition with its transition time: `stamp` if its status changed, or else the previous time."""
    old = next((one for one in before.conditions or () if one.type == wanted.type), None)
    same = old is not None and old.status == wanted.status
    return replace(wanted, last_transition_time=old.last_transition_time if old is not None and same else stamp)

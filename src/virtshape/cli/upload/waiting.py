"""
Wait until the target is ready for an upload, and until the uploaded data is processed.

If events or the status show that this cannot succeed, the wait ends at once with the server's message.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.event import Event
from virtshape.api.meta import find_annotation
from virtshape.api.status import StatusError
from virtshape.api.wellknown import POD_PHASE, POD_READY, RUNNING_MESSAGE
from virtshape.cli.connection import Session
from virtshape.cli.errors import CommandError
from virtshape.cli.progress import Progress
from virtshape.cli.upload.objects import UploadRequest
from virtshape.cli.upload.targets import Say, find
from virtshape.client.resources import metadata_of
from virtshape.engine.claims import FILLED, count_failures

PAUSE_SECONDS: Final = 0.5
_WAITS: Final = "WaitForFirstConsumer"
_HELD: Final = (_WAITS, "PendingPopulation")
_FATAL_EVENTS: Final = {
    ("PersistentVolumeClaim", "ProvisioningFailed"): "Provisioning failed",
    ("DataVolume", "ErrClaimNotValid"): "Claim not valid",
}
_TRANSIENT: Final = "the object has been modified"


async def wait_until_ready(session: Session, wanted: UploadRequest, say: Say) -> None:
    """Wait until the target is ready for an upload."""
    loop = asyncio.get_running_loop()
    began, is_reported = loop.time(), False
    progress = Progress(f"waiting for {wanted.name} to be ready (seconds)")
    try:
        while not await _is_ready(session, wanted):
            await _raise_on_failure_events(session, wanted)
            if not is_reported:
                say(f"Waiting for PVC {wanted.name} upload pod to be ready...")
                is_reported = True
            waited = loop.time() - began
            if waited >= wanted.wait_seconds:
                raise CommandError(
                    f"PVC {wanted.name} is not ready for an upload after {wanted.wait_seconds} seconds",
                    next_step=f"See why: kubectl describe {wanted.kind} {wanted.name} -n {session.namespace}",
                )
            progress.show(int(waited), wanted.wait_seconds)
            await asyncio.sleep(PAUSE_SECONDS)
    finally:
        progress.clear()
    if is_reported:
        say("Pod now ready")


async def _is_ready(session: Session, wanted: UploadRequest) -> bool:
    if wanted.kind == "pvc":
        claim = await find(session, PersistentVolumeClaim, wanted.name)
        return claim is not None and find_annotation(claim.metadata, POD_READY) == "true"
    volume = await find(session, DataVolume, wanted.name)
    phase = (volume.status.phase if volume is not None and volume.status is not None else None) or ""
    if phase in _HELD and not wanted.binds_now:
        raise _build_unbound_error(f"DataVolume in {phase} phase")
    if phase in ("Succeeded", "Failed"):
        step = f"See its conditions: kubectl describe dv {wanted.name} -n {session.namespace}"
        raise CommandError(f"cannot upload to DataVolume in {phase} phase", next_step=step)
    return phase == "UploadReady"


def _build_unbound_error(what: str) -> CommandError:
    return CommandError(
        f"cannot upload to {what}, make sure the PVC is Bound, or use force-bind flag",
        next_step="--force-bind binds a PVC that waits for its first consumer.",
    )


async def _raise_on_failure_events(session: Session, wanted: UploadRequest) -> None:
    """Raise CommandError if an event of the PVC or DataVolume shows that it cannot become ready."""
    claim = await find(session, PersistentVolumeClaim, wanted.name)
    volume = await find(session, DataVolume, wanted.name) if wanted.kind == "dv" else None
    uids = {metadata_of(one).uid for one in (claim, volume) if one is not None}
    for event in await _list_events(session, wanted.name):
        about, message = event.involved_object, event.message or ""
        if about.uid not in uids or _TRANSIENT in message:
            continue
        problem = _FATAL_EVENTS.get((about.kind or "", event.reason or ""))
        if problem is not None:
            step = f"See more: kubectl describe {wanted.kind} {wanted.name} -n {session.namespace}"
            raise CommandError(f"{problem}: {message}", next_step=step)
        if event.reason == _WAITS and wanted.kind == "pvc" and not wanted.binds_now:
            raise _build_unbound_error(f"PVC {wanted.name}, which waits for its first consumer")


async def _list_events(session: Session, name: str) -> Sequence[Event]:
    try:
        return (await session.client.list(Event, session.namespace, fields=f"involvedObject.name={name}")).items
    except StatusError as error:
        if error.code != 403:
            raise
        return ()


async def count_failed(session: Session, wanted: UploadRequest) -> int:
    """Return the number of earlier uploads to the PVC that could not be processed."""
    claim = await find(session, PersistentVolumeClaim, wanted.name)
    return count_failures(claim.metadata) if claim is not None else 0


async def wait_until_processed(session: Session, wanted: UploadRequest, failures: int) -> None:
    """Wait until the uploaded data is in the PVC; raise CommandError if it cannot be processed."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    progress = Progress(f"waiting for {wanted.name} to be processed (seconds)")
    try:
        while True:
            claim = await find(session, PersistentVolumeClaim, wanted.name)
            if claim is not None and find_annotation(claim.metadata, POD_PHASE) == FILLED:
                return
            if wanted.kind == "dv":
                await _require_no_failure(session, wanted)
            if claim is not None and count_failures(claim.metadata) > failures:
                reason = find_annotation(claim.metadata, RUNNING_MESSAGE) or "it failed"
                raise _build_processing_error(session, wanted, reason)
            progress.show(int(loop.time() - began))
            await asyncio.sleep(PAUSE_SECONDS)
    finally:
        progress.clear()


async def _require_no_failure(session: Session, wanted: UploadRequest) -> None:
    volume = await find(session, DataVolume, wanted.name)
    status = volume.status if volume is not None else None
    if volume is None or (status is not None and status.phase == "Failed"):
        conditions = (status.conditions if status is not None else None) or ()
        running = next((one for one in conditions if one.type == "Running"), None)
        reason = (running.message if running else None) or "the DataVolume was deleted"
        raise _build_processing_error(session, wanted, reason)


def _build_processing_error(session: Session, wanted: UploadRequest, message: str) -> CommandError:
    step = f"See more: kubectl describe {wanted.kind} {wanted.name} -n {session.namespace}"
    return CommandError(f"{wanted.path} was uploaded but cannot be used: {message}", next_step=step)

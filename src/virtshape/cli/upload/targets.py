"""
The claim or DataVolume that is uploaded to: the one that is there, if it can take it, or a new one.

What was made for an upload that does not come to its end is removed again.
"""

import contextlib
from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.api.storage import StorageClass
from virtshape.cli.connection import Session
from virtshape.cli.errors import CommandError, suggest
from virtshape.cli.upload.objects import UploadRequest, build_claim, build_volume
from virtshape.client.resources import metadata_of
from virtshape.controllers.storage.claimstatus import FILLED
from virtshape.controllers.storage.classes import annotation
from virtshape.controllers.storage.names import (
    CONTENT_TYPE,
    POD_PHASE,
    POD_READY,
    POD_RESTARTS,
    RUNNING_MESSAGE,
    UPLOAD_TARGET,
)

T = TypeVar("T", bound=Model)
Say = Callable[[str], None]
Target = PersistentVolumeClaim | DataVolume


async def find_or_make_target(session: Session, wanted: UploadRequest, say: Say) -> Target | None:
    """See to it that there is something to upload to; what was made for that, if it was."""
    claim = await find(session, PersistentVolumeClaim, wanted.name)
    if claim is not None:
        await _open_up(session, wanted, await _check_claim(session, wanted, claim))
        say(f"Using existing PVC {session.namespace}/{wanted.name}")
        return None
    if not wanted.creates and await _awaits_upload(session, wanted):
        say(f"Using existing DataVolume {session.namespace}/{wanted.name}")
        return None
    say(f"PVC {session.namespace}/{wanted.name} not found")
    if not wanted.creates:
        step = f"Leave out --no-create and say --size, or make it first: kubectl get pvc -n {session.namespace}"
        raise CommandError(f'there is no PVC "{wanted.name}" in namespace {session.namespace}', next_step=step)
    if wanted.size is None:
        step = "Say how large it is to be: --size 10Gi"
        raise CommandError("when creating a resource, the size must be specified", next_step=step)
    await _check_class(session, wanted)
    made = await _make(session, wanted)
    say(f"{made.kind} {session.namespace}/{wanted.name} created")
    return made


async def remove_target(session: Session, made: Target, say: Say) -> None:
    """Remove what was made for an upload that came to nothing."""
    metadata = metadata_of(made)
    with contextlib.suppress(StatusError):
        await session.client.delete(type(made), metadata.name or "", metadata.namespace or "", uid=metadata.uid or "")
        say(f"{made.kind} {metadata.namespace}/{metadata.name} removed again")


async def find(session: Session, kind: type[T], name: str, namespace: str | None = None) -> T | None:
    """The object of a name, if there is one."""
    try:
        return await session.client.get(kind, name, session.namespace if namespace is None else namespace)
    except StatusError as error:
        if error.code != 404:
            raise
        return None


async def _make(session: Session, wanted: UploadRequest) -> Target:
    if wanted.kind == "pvc":
        return await session.client.create(build_claim(wanted, session.namespace))
    try:
        return await session.client.create(build_volume(wanted, session.namespace))
    except StatusError as error:
        if error.code == 404 and not error.details.kind:
            step = f"Have CDI installed, or upload to a claim: virtctl image-upload pvc {wanted.name}"
            raise CommandError("there are no DataVolumes here: the cluster has no CDI", next_step=step) from error
        if error.reason != "AlreadyExists":
            raise
        step = f"Upload to it with --no-create, or see how it is: kubectl get dv {wanted.name} -n {session.namespace}"
        raise CommandError(error.message, next_step=step) from error


async def _check_claim(session: Session, wanted: UploadRequest, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    """The claim, which must be one that something can be uploaded to."""
    name, where, metadata = wanted.name, f"-n {session.namespace}", metadata_of(claim)
    if wanted.kind == "dv" and await find(session, DataVolume, name) is None:
        words = f"No DataVolume is associated with the existing PVC {session.namespace}/{name}"
        raise CommandError(words, next_step=f"Upload to the claim itself: virtctl image-upload pvc {name}")
    if annotation(metadata, POD_PHASE) == FILLED and not wanted.forces:
        step = f"Choose another name, or delete it first: kubectl delete {wanted.kind} {name} {where}"
        if wanted.kind == "pvc":
            step += ". With --force what it holds is replaced."
        raise CommandError(f"PVC {name} already successfully imported/cloned/updated", next_step=step)
    if wanted.creates and not wanted.forces and annotation(metadata, UPLOAD_TARGET) is None:
        step = "Say that it is meant, with --no-create: what it holds is replaced."
        raise CommandError(f"PVC {name} not available for upload", next_step=step)
    if wanted.is_archive and annotation(metadata, CONTENT_TYPE) != wanted.content:
        step = f"Give it one: kubectl annotate pvc {name} {CONTENT_TYPE}={wanted.content} {where}"
        raise CommandError(f"PVC {name} doesn't have archive contentType annotation", next_step=step)
    return claim


async def _open_up(session: Session, wanted: UploadRequest, claim: PersistentVolumeClaim) -> None:
    """Have the claim say that something is uploaded to it; also anew, if that is wished for."""
    metadata = metadata_of(claim)
    annotations = {UPLOAD_TARGET: "", **(metadata.annotations or {})}
    if wanted.forces and annotations.get(POD_PHASE) == FILLED:
        gone = (POD_PHASE, POD_READY, POD_RESTARTS, RUNNING_MESSAGE)
        annotations = {key: text for key, text in annotations.items() if key not in gone}
    if annotations != metadata.annotations:
        changed: ObjectMeta = replace(metadata, annotations=annotations)
        await session.client.update(replace(claim, metadata=changed))


async def _awaits_upload(session: Session, wanted: UploadRequest) -> bool:
    """Whether there is a DataVolume whose claim is made once something was uploaded."""
    volume = await find(session, DataVolume, wanted.name) if wanted.kind == "dv" else None
    return volume is not None and volume.spec.source is not None and volume.spec.source.upload is not None


async def _check_class(session: Session, wanted: UploadRequest) -> None:
    """Refuse a storage class that is not there, where one may look."""
    if not wanted.storage_class:
        return
    try:
        if await find(session, StorageClass, wanted.storage_class, "") is not None:
            return
        known = [metadata_of(one).name or "" for one in (await session.client.list(StorageClass)).items]
    except StatusError as error:
        if error.code != 403:
            raise
        return
    words = f'storageclasses.storage.k8s.io "{wanted.storage_class}" not found{suggest(wanted.storage_class, known)}'
    raise CommandError(words, next_step="See which ones there are: kubectl get storageclass")

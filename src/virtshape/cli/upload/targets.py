"""
Target of an upload: an existing PVC or DataVolume, or a new one.

If the upload fails, a new target is deleted.
"""

import contextlib
from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.meta import ObjectMeta, find_annotation
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.api.storage import StorageClass
from virtshape.api.wellknown import CONTENT_TYPE, POD_PHASE, POD_READY, POD_RESTARTS, RUNNING_MESSAGE, UPLOAD_TARGET
from virtshape.cli.connection import Session
from virtshape.cli.errors import CommandError, suggest
from virtshape.cli.upload.objects import UploadRequest, build_claim, build_volume
from virtshape.client.resources import metadata_of
from virtshape.engine.claims import FILLED

T = TypeVar("T", bound=Model)
Say = Callable[[str], None]
Target = PersistentVolumeClaim | DataVolume


async def ensure_target(session: Session, wanted: UploadRequest, say: Say) -> Target | None:
    """Prepare the existing target or create one; return the object if it was created, otherwise None."""
    claim = await find(session, PersistentVolumeClaim, wanted.name)
    if claim is not None:
        await _validate_claim(session, wanted, claim)
        await _mark_upload_target(session, wanted, claim)
        say(f"Using existing PVC {session.namespace}/{wanted.name}")
        return None
    if not wanted.creates and await _waits_for_upload(session, wanted):
        say(f"Using existing DataVolume {session.namespace}/{wanted.name}")
        return None
    say(f"PVC {session.namespace}/{wanted.name} not found")
    if not wanted.creates:
        step = f"Use --size instead of --no-create, or choose an existing one: kubectl get pvc -n {session.namespace}"
        raise CommandError(f'PVC "{wanted.name}" not found in namespace {session.namespace}', next_step=step)
    if wanted.size is None:
        step = "Set the size: --size 10Gi"
        raise CommandError("when creating a resource, the size must be specified", next_step=step)
    await _validate_storage_class(session, wanted)
    created = await _create(session, wanted)
    say(f"{created.kind} {session.namespace}/{wanted.name} created")
    return created


async def delete_target(session: Session, created: Target, say: Say) -> None:
    """Delete the object that was created for a failed upload."""
    metadata = metadata_of(created)
    with contextlib.suppress(StatusError):
        await session.client.delete(
            type(created), metadata.name or "", metadata.namespace or "", uid=metadata.uid or ""
        )
        say(f"{created.kind} {metadata.namespace}/{metadata.name} deleted")


async def find(session: Session, kind: type[T], name: str, namespace: str | None = None) -> T | None:
    """Return the object of this name, or None if it does not exist."""
    try:
        return await session.client.get(kind, name, session.namespace if namespace is None else namespace)
    except StatusError as error:
        if error.code != 404:
            raise
        return None


async def _create(session: Session, wanted: UploadRequest) -> Target:
    if wanted.kind == "pvc":
        return await session.client.create(build_claim(wanted, session.namespace))
    try:
        return await session.client.create(build_volume(wanted, session.namespace))
    except StatusError as error:
        if error.code == 404 and not error.details.kind:
            step = f"Install CDI, or upload to a PVC: virtctl image-upload pvc {wanted.name}"
            raise CommandError("cannot create a DataVolume: CDI is not installed", next_step=step) from error
        if error.reason != "AlreadyExists":
            raise
        step = (
            f"Upload to it with --no-create, or check its status: kubectl get dv {wanted.name} -n {session.namespace}"
        )
        raise CommandError(error.message, next_step=step) from error


async def _validate_claim(session: Session, wanted: UploadRequest, claim: PersistentVolumeClaim) -> None:
    """Check that an existing PVC accepts an upload."""
    name, where, metadata = wanted.name, f"-n {session.namespace}", metadata_of(claim)
    if wanted.kind == "dv" and await find(session, DataVolume, name) is None:
        message = f"No DataVolume is associated with the existing PVC {session.namespace}/{name}"
        raise CommandError(message, next_step=f"Upload to the PVC: virtctl image-upload pvc {name}")
    if find_annotation(metadata, POD_PHASE) == FILLED and not wanted.forces:
        step = f"Choose another name, or delete it first: kubectl delete {wanted.kind} {name} {where}"
        if wanted.kind == "pvc":
            step += ". Or replace its data with --force."
        raise CommandError(f"PVC {name} already successfully imported/cloned/updated", next_step=step)
    if wanted.creates and not wanted.forces and find_annotation(metadata, UPLOAD_TARGET) is None:
        step = "To replace its data, use --no-create."
        raise CommandError(f"PVC {name} not available for upload", next_step=step)
    if wanted.is_archive and find_annotation(metadata, CONTENT_TYPE) != wanted.content:
        step = f"Add it: kubectl annotate pvc {name} {CONTENT_TYPE}={wanted.content} {where}"
        raise CommandError(f"PVC {name} doesn't have archive contentType annotation", next_step=step)


async def _mark_upload_target(session: Session, wanted: UploadRequest, claim: PersistentVolumeClaim) -> None:
    """Annotate an existing PVC as an upload target; with --force, clear the result of the previous upload."""
    metadata = metadata_of(claim)
    annotations = {UPLOAD_TARGET: "", **(metadata.annotations or {})}
    if wanted.forces and annotations.get(POD_PHASE) == FILLED:
        outdated = (POD_PHASE, POD_READY, POD_RESTARTS, RUNNING_MESSAGE)
        annotations = {key: text for key, text in annotations.items() if key not in outdated}
    if annotations != metadata.annotations:
        changed: ObjectMeta = replace(metadata, annotations=annotations)
        await session.client.update(replace(claim, metadata=changed))


async def _waits_for_upload(session: Session, wanted: UploadRequest) -> bool:
    """Return True if the target is a DataVolume whose source is an upload; its PVC may be created later."""
    volume = await find(session, DataVolume, wanted.name) if wanted.kind == "dv" else None
    return volume is not None and volume.spec.source is not None and volume.spec.source.upload is not None


async def _validate_storage_class(session: Session, wanted: UploadRequest) -> None:
    """Check that the storage class exists, if the user may read storage classes."""
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
    message = f'storageclasses.storage.k8s.io "{wanted.storage_class}" not found{suggest(wanted.storage_class, known)}'
    raise CommandError(message, next_step="List storage classes: kubectl get storageclass")

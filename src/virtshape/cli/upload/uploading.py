"""
Upload a file: create the target, send the data, wait until it is processed, and print the progress.

If the upload fails or is interrupted before all data is sent, the objects created for it are deleted.
"""

import os
from typing import BinaryIO

from virtshape.api.cdi import DataSource, DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.cli.connection import Session
from virtshape.cli.errors import CommandError
from virtshape.cli.signals import cancel_on_signals
from virtshape.cli.upload.objects import UploadRequest, build_source, describe_defaults
from virtshape.cli.upload.sending import get_proxy, send_image
from virtshape.cli.upload.targets import Say, Target, delete_target, ensure_target, find
from virtshape.cli.upload.waiting import count_failed, wait_until_processed, wait_until_ready


async def upload_image(session: Session, wanted: UploadRequest, say: Say) -> Target:
    """Upload a file and print the progress; return the PVC or DataVolume."""
    with _open(wanted) as file:
        failures = await _send(session, wanted, file, say)
    if wanted.has_source:
        await _ensure_data_source(session, wanted, say)
    say(
        "Uploading data completed successfully, waiting for processing to complete, you can hit ctrl-c without "
        "interrupting the progress"
    )
    await wait_until_processed(session, wanted, failures)
    say("Processing completed successfully")
    say(f"Uploading {wanted.path} completed successfully")
    kind = PersistentVolumeClaim if wanted.kind == "pvc" else DataVolume
    return await session.client.get(kind, wanted.name, session.namespace)


def _open(wanted: UploadRequest) -> BinaryIO:
    try:
        return wanted.path.open("rb")
    except OSError as error:
        flag = "--archive-path" if wanted.is_archive else "--image-path"
        message = f"cannot open {wanted.path}: {error.strerror}"
        raise CommandError(message, next_step=f"Check the path: {flag}") from error


async def _send(session: Session, wanted: UploadRequest, file: BinaryIO, say: Say) -> int:
    """Send the file to the target; return the number of earlier uploads that could not be processed."""
    created = None
    try:
        with cancel_on_signals():
            url, authority = await get_proxy(session, wanted)  # create nothing if there is no proxy
            created = await ensure_target(session, wanted, say)
            await wait_until_ready(session, wanted, say)
            failures = await count_failed(session, wanted)
            say(f"Uploading data to {url}")
            await send_image(session, wanted, url, authority, file, os.fstat(file.fileno()).st_size)
    except BaseException:
        if created is not None:
            await delete_target(session, created, say)
        raise
    return failures


async def _ensure_data_source(session: Session, wanted: UploadRequest, say: Say) -> None:
    """Create or update the DataSource that refers to the PVC."""
    if await find(session, DataSource, wanted.name) is None:
        await session.client.create(build_source(wanted, session.namespace))
        say(f"Created a new DataSource {session.namespace}/{wanted.name}")
        return
    labels, annotations = describe_defaults(wanted)
    origin = {"pvc": {"name": wanted.name, "namespace": session.namespace}, "snapshot": None, "dataSource": None}
    patch = {"metadata": {"labels": labels, "annotations": annotations}, "spec": {"source": origin}}
    await session.client.patch(DataSource, wanted.name, session.namespace, patch=patch)
    say(f"Updated an existing DataSource {session.namespace}/{wanted.name}")

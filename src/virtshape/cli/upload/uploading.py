"""
An upload from its beginning to its end: a claim to fill, the file to fill it with, and what is said on the way.

Broken off before all was sent, it leaves nothing that it made.
"""

import os
from typing import BinaryIO

from virtshape.api.cdi import DataSource, DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.cli.connection import Session
from virtshape.cli.errors import CommandError
from virtshape.cli.signals import cancel_on_signals
from virtshape.cli.upload.objects import UploadRequest, build_source, describe_defaults
from virtshape.cli.upload.sending import find_proxy, send_image
from virtshape.cli.upload.targets import Say, Target, find, find_or_make_target, remove_target
from virtshape.cli.upload.waiting import count_refused, wait_until_processed, wait_until_ready


async def upload_image(session: Session, wanted: UploadRequest, say: Say) -> Target:
    """Upload a file, and say how it goes; the claim or DataVolume as it is then."""
    with _open(wanted) as file:
        failures = await _hand_over(session, wanted, file, say)
    if wanted.has_source:
        await _name_source(session, wanted, say)
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
        words = f"cannot open {wanted.path}: {error.strerror}"
        raise CommandError(words, next_step=f"Name a file that is there: {flag}") from error


async def _hand_over(session: Session, wanted: UploadRequest, file: BinaryIO, say: Say) -> int:
    """Have the file sent to a claim; how often something was sent to it before that could not be used."""
    made = None
    try:
        with cancel_on_signals():
            url, authority = await find_proxy(session, wanted)  # before anything is made that nobody could fill
            made = await find_or_make_target(session, wanted, say)
            await wait_until_ready(session, wanted, say)
            failures = await count_refused(session, wanted)
            say(f"Uploading data to {url}")
            await send_image(session, wanted, url, authority, file, os.fstat(file.fileno()).st_size)
    except BaseException:
        if made is not None:
            await remove_target(session, made, say)
        raise
    return failures


async def _name_source(session: Session, wanted: UploadRequest, say: Say) -> None:
    """Have a data source of the claim's name stand for it."""
    there = await find(session, DataSource, wanted.name)
    if there is None:
        await session.client.create(build_source(wanted, session.namespace))
        say(f"Created a new DataSource {session.namespace}/{wanted.name}")
        return
    labels, annotations = describe_defaults(wanted)
    origin = {"pvc": {"name": wanted.name, "namespace": session.namespace}, "snapshot": None, "dataSource": None}
    patch = {"metadata": {"labels": labels, "annotations": annotations}, "spec": {"source": origin}}
    await session.client.patch(DataSource, wanted.name, session.namespace, patch=patch)
    say(f"Updated an existing DataSource {session.namespace}/{wanted.name}")

"""Read the default instance type and preference of container images before they are imported."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Final

from virtshape.api.cdi import DataVolume
from virtshape.client.protocol import Client
from virtshape.controllers.storage.fillrequests import build_fill_request
from virtshape.controllers.storage.protocol import Container
from virtshape.controllers.storage.sources import SourceProblem
from virtshape.launcher.images.errors import StoppedError
from virtshape.launcher.images.progress import until
from virtshape.resolve.imagedefaults import ImageDefaults, report_unreadable
from virtshape.standalone.storage.imagefetcher import ImageFetcher
from virtshape.standalone.storage.jobs import run_in_thread
from virtshape.standalone.storage.layout import Layout

TIMEOUT_SECONDS: Final = 10.0
"""Maximum time for a registry to send the manifest and configuration of an image while a request waits."""
MAX_AT_ONCE: Final = 4


class ImportedImages:
    """Reads container images that DataVolumes import; `connect` returns a client that may read registry credentials."""

    def __init__(self, directory: Path, connect: Callable[[], Client]) -> None:
        self._fetcher = ImageFetcher(Layout(directory))
        self._connect = connect
        self._slots = asyncio.Semaphore(MAX_AT_ONCE)

    async def read(self, volume: DataVolume) -> ImageDefaults:
        """Return the defaults of the container image that a DataVolume imports; the `ignored` field reports errors."""
        if volume.spec.source is None:
            return ImageDefaults()
        request = await build_fill_request(volume, volume.spec.source, self._connect())
        if isinstance(request, SourceProblem):
            return report_unreadable(request.message)
        if not isinstance(request.source, Container):
            return ImageDefaults()
        stop = Event()
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS), self._slots:
                return await self._read(request.source, stop)
        except TimeoutError:
            return report_unreadable(f"{request.source.reference} did not respond within {TIMEOUT_SECONDS:g} s")
        finally:
            stop.set()

    async def _read(self, origin: Container, stop: Event) -> ImageDefaults:
        found: list[ImageDefaults] = []

        def read() -> None:
            try:
                found.append(self._fetcher.read_image_defaults(origin, until(stop)))
            except StoppedError:
                return

        await run_in_thread(read)
        return found[0] if found else ImageDefaults()

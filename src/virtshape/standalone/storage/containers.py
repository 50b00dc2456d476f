"""
Disk images in container images: pulled in the background, with backoff after failures.

The demo guest is a built-in image: built from Debian packages on first use and never pulled.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, cast

from msgspec import Struct

from virtshape.controllers.storage.datavolumestatus import retry_delay
from virtshape.controllers.storage.files import NotReadyError
from virtshape.controllers.storage.mounts import PULLING, ContainerDisk
from virtshape.launcher.images.containerdisk import ContainerImages, Policy
from virtshape.launcher.images.demo.build import Flavour, ensure_demo_image, get_demo_guest
from virtshape.launcher.images.errors import TransferError
from virtshape.launcher.images.progress import Progress
from virtshape.launcher.images.reference import parse_reference
from virtshape.standalone.config import ConfigurationError, list_allowed_networks, read_configuration
from virtshape.standalone.storage.diskspace import read_disk_space
from virtshape.standalone.storage.jobs import Jobs
from virtshape.standalone.storage.layout import Layout
from virtshape.standalone.storage.registrycredentials import get_registry_credentials
from virtshape.supervise.supervisor import Supervisor

_DEMO_IMAGES: Final[dict[str, Flavour]] = {"virtshape.local/demo": "cloud", "virtshape.local/demo-full": "full"}
"""`demo` has virtio drivers and starts fastest; `demo-full` also has drivers for emulated hardware."""

_POLICIES: Final = ("Always", "IfNotPresent", "Never")
CACHE_SECONDS: Final = 10.0
"""How long a found image is used without another check."""


def open_images(layout: Layout) -> ContainerImages:
    """Return the container images that this machine may use according to its configuration."""
    try:
        configuration = read_configuration(layout.directory)
    except ConfigurationError as error:
        raise TransferError(str(error)) from error
    registries = configuration.registries
    return ContainerImages(
        layout.images,
        files={**list_demo_files(layout), **(configuration.images or {})},
        from_registries=registries is None or registries.enabled,
        plain_registries=(registries.plain if registries else None) or (),
        networks=list_allowed_networks(configuration),
        limit=read_disk_space(layout.directory).largest,
    )


class _Failure(Struct):
    """The number of failed pulls, and when the next may start."""

    count: int
    message: str
    until: float


class _Found(Struct):
    """The path of an image, and how long it is valid without a check."""

    path: str
    until: float


class FetchedDisks:
    """Finds disks in container images, and pulls missing images."""

    def __init__(self, directory: Path, supervisor: Supervisor, clock: Callable[[], float] = time.monotonic) -> None:
        self._layout = Layout(directory)
        self._clock = clock
        self._jobs = Jobs(supervisor)
        self._paths: dict[ContainerDisk, str] = {}
        self._found: dict[ContainerDisk, _Found] = {}
        self._failures: dict[ContainerDisk, _Failure] = {}

    async def get(self, wanted: ContainerDisk) -> str:
        """Return the path of the image; raise NotReadyError while it is being pulled or after a failure."""
        known = self._recall(wanted)
        if known is not None:
            return known
        failure = self._failures.get(wanted)
        if failure is not None and failure.until > self._clock():
            raise NotReadyError("ImagePullBackOff", failure.message)
        key = repr(wanted)
        job = self._jobs.find(key, "fetch", 0)
        if job is not None:
            work = job.work
        else:
            fetch = partial(self._fetch, wanted)
            work = await self._jobs.begin(key, "fetch", 0, fetch, _ignore, title=wanted.image)
        if work.state == "done":
            await self._jobs.end(key)
            self._failures.pop(wanted, None)
            self._found[wanted] = _Found(self._paths.pop(wanted), self._clock() + CACHE_SECONDS)
            return self._found[wanted].path
        if work.state == "failed":
            await self._jobs.end(key)
            count = failure.count + 1 if failure is not None else 1
            message = f"pulling image {wanted.image} failed: {work.message}"
            self._failures[wanted] = _Failure(count, message, self._clock() + retry_delay(count))
            raise NotReadyError("ErrImagePull", message)
        shown = f", {work.progress:.0f}%" if work.progress is not None else ""
        raise NotReadyError(PULLING, f"pulling image {wanted.image}{shown}")

    def _recall(self, wanted: ContainerDisk) -> str | None:
        """Return the path if the image was found recently: an instance that waits asks repeatedly."""
        now = self._clock()
        self._found = {key: one for key, one in self._found.items() if one.until > now}
        found = self._found.get(wanted)
        if found is None or not Path(found.path).exists():
            return None
        found.until = now + CACHE_SECONDS
        return found.path

    def _fetch(self, wanted: ContainerDisk, progress: Progress) -> int:
        policy = cast("Policy", wanted.policy) if wanted.policy in _POLICIES else None
        progress = read_disk_space(self._layout.directory).guard(progress)
        ensure_demo(wanted.image, self._layout, progress)
        images, access = open_images(self._layout), get_registry_credentials(wanted.logins, wanted.image)
        if wanted.files:
            directory = images.fetch_files(wanted.image, wanted.files, access=access, progress=progress)
            self._paths[wanted] = str(directory)
            return 0
        disk = images.fetch_disk(wanted.image, wanted.path, policy=policy, access=access, progress=progress)
        self._paths[wanted] = disk.path
        return disk.size

    async def close(self) -> None:
        """Stop all pulls."""
        await self._jobs.close()


def _ignore() -> None:
    """Do nothing: instances that wait for an image are retried."""


def list_demo_files(layout: Layout) -> dict[str, str]:
    """Return the paths of the demo guests' disks by image name."""
    return {name: str(get_demo_guest(layout.images / "demo", flavour).disk) for name, flavour in _DEMO_IMAGES.items()}


def ensure_demo(image: str, layout: Layout, progress: Progress) -> None:
    """Build the demo guest if the image name refers to one."""
    wanted = parse_reference(image)
    for name, flavour in _DEMO_IMAGES.items():
        if parse_reference(name) == wanted:
            ensure_demo_image(layout.images / "demo", progress, flavour)

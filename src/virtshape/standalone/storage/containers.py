"""
Disk images in container images: pulled in the background, with backoff after failures.

Demo guests are built-in images, which are built from Debian packages on first use and never pulled.
"""

import hashlib
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, cast

from msgspec import MsgspecError, Struct

from virtshape.api.launcherpod import DEMO_IMAGE
from virtshape.controllers.storage.datavolumestatus import retry_delay
from virtshape.controllers.storage.files import NotReadyError
from virtshape.controllers.storage.mounts import PULLING, ContainerDisk
from virtshape.launcher.images.containerdisk import ContainerImages, Policy
from virtshape.launcher.images.demo.build import Flavour, ensure_demo_image, get_demo_guest
from virtshape.launcher.images.errors import TransferError
from virtshape.launcher.images.progress import Progress
from virtshape.launcher.images.reference import parse_reference
from virtshape.launcher.node.gueststate import list_mounted_paths
from virtshape.standalone.config import ConfigurationError, list_allowed_networks, read_configuration
from virtshape.standalone.storage.diskspace import read_disk_space
from virtshape.standalone.storage.jobs import Jobs
from virtshape.standalone.storage.layout import Layout
from virtshape.standalone.storage.registrycredentials import get_registry_credentials
from virtshape.supervise.supervisor import Supervisor

_log = logging.getLogger(__name__)
_DEMO_IMAGES: Final[dict[str, Flavour]] = {DEMO_IMAGE: "cloud", f"{DEMO_IMAGE}-full": "full"}
"""`demo` has virtio drivers and starts fastest; `demo-full` also has drivers for emulated hardware."""

_POLICIES: Final = ("Always", "IfNotPresent", "Never")
CACHE_SECONDS: Final = 10.0
"""How long the path of an image is used without checking the image again."""
ABANDONED_SECONDS: Final = 900.0
"""How long a pull is remembered after the last request for its image; longer than the longest retry delay."""
MAX_PULL_SECRET_BYTES: Final = 64 << 10
"""Maximum size of a pull secret."""


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


def prune_images(layout: Layout) -> None:
    """Remove images that no guest uses, least recently used first, while the cache is larger than configured."""
    limit = read_disk_space(layout.directory).image_cache
    try:
        open_images(layout).prune(limit, lambda: list_mounted_paths(layout.directory / "guests"))
    except (OSError, MsgspecError) as error:
        _log.warning("removing unused container images failed: %s; retrying after the next pull", error)


class _Failure(Struct):
    """The number of failed pulls, the last message, and when the next pull may start."""

    count: int
    message: str
    until: float


class _Found(Struct):
    """The path of an image, and the time until which it is used without a check."""

    path: str
    until: float


class FetchedDisks:
    """Finds disks in container images, and pulls missing images."""

    def __init__(self, directory: Path, supervisor: Supervisor, clock: Callable[[], float] = time.monotonic) -> None:
        self._layout = Layout(directory)
        self._clock = clock
        self._jobs = Jobs(supervisor)
        self._paths: dict[str, str] = {}
        self._found: dict[str, _Found] = {}
        self._failures: dict[str, _Failure] = {}
        self._asked: dict[str, float] = {}

    async def get(self, wanted: ContainerDisk) -> str:
        """Return the path of the image; raise NotReadyError while the image is being pulled or after a failure."""
        if len(wanted.logins) > MAX_PULL_SECRET_BYTES:
            raise NotReadyError(
                "ErrImagePull",
                f"the pull secret is {len(wanted.logins)} bytes: at most {MAX_PULL_SECRET_BYTES} are used",
            )
        key = _key(wanted)
        known = self._recall(key)
        if known is not None:
            return known
        await self._forget_abandoned()
        self._asked[key] = self._clock()
        failure = self._failures.get(key)
        if failure is not None and failure.until > self._clock():
            raise NotReadyError("ImagePullBackOff", failure.message)
        job = self._jobs.find(key, "fetch", 0)
        if job is not None:
            work = job.work
        else:
            fetch = partial(self._fetch, wanted)
            work = await self._jobs.begin(key, "fetch", 0, fetch, _ignore, title=wanted.image)
        if work.state == "done":
            await self._jobs.end(key)
            self._failures.pop(key, None)
            self._found[key] = _Found(self._paths[key], self._clock() + CACHE_SECONDS)
            return self._found[key].path
        if work.state == "failed":
            await self._jobs.end(key)
            count = failure.count + 1 if failure is not None else 1
            message = f"pulling image {wanted.image} failed: {work.message}"
            self._failures[key] = _Failure(count, message, self._clock() + retry_delay(count))
            raise NotReadyError("ErrImagePull", message)
        shown = f", {work.progress:.0f}%" if work.progress is not None else ""
        raise NotReadyError(PULLING, f"pulling image {wanted.image}{shown}")

    async def _forget_abandoned(self) -> None:
        """Forget failures and finished pulls of images that no instance has requested for ABANDONED_SECONDS."""
        before = self._clock() - ABANDONED_SECONDS
        for key in [key for key, asked in self._asked.items() if asked < before]:
            job = self._jobs.find(key, "fetch", 0)
            if job is None or job.work.state in ("done", "failed"):
                await self._jobs.end(key)
                for known in (self._asked, self._failures, self._paths):
                    known.pop(key, None)

    def _recall(self, key: str) -> str | None:
        """Return the cached path of an image that was requested recently, or None."""
        now = self._clock()
        self._found = {name: one for name, one in self._found.items() if one.until > now}
        found = self._found.get(key)
        if found is None or not Path(found.path).exists():
            return None
        found.until = now + CACHE_SECONDS
        return found.path

    def _fetch(self, wanted: ContainerDisk, progress: Progress) -> int:
        policy = cast("Policy", wanted.policy) if wanted.policy in _POLICIES else None
        progress = read_disk_space(self._layout.directory).guard(progress)
        ensure_demo(wanted.image, self._layout, progress)
        try:
            self._paths[_key(wanted)], size = self._fetch_image(wanted, policy, progress)
        finally:
            prune_images(self._layout)
        return size

    def _fetch_image(self, wanted: ContainerDisk, policy: Policy | None, progress: Progress) -> tuple[str, int]:
        images, access = open_images(self._layout), get_registry_credentials(wanted.logins, wanted.image)
        if wanted.files:
            return str(images.fetch_files(wanted.image, wanted.files, access=access, progress=progress)), 0
        disk = images.fetch_disk(wanted.image, wanted.path, policy=policy, access=access, progress=progress)
        return disk.path, disk.size

    async def close(self) -> None:
        """Stop all pulls."""
        await self._jobs.close()


def _key(wanted: ContainerDisk) -> str:
    return hashlib.sha256(repr(wanted).encode()).hexdigest()


def _ignore() -> None:
    """Do nothing: instances that wait for an image are retried."""


def list_demo_files(layout: Layout) -> dict[str, str]:
    """Return the paths of the demo guests' disks by image name."""
    return {name: str(get_demo_guest(layout.images / "demo", flavour).disk) for name, flavour in _DEMO_IMAGES.items()}


def ensure_demo(image: str, layout: Layout, progress: Progress) -> None:
    """Ensure that the demo guest exists if the image name refers to one."""
    wanted = parse_reference(image)
    for name, flavour in _DEMO_IMAGES.items():
        if parse_reference(name) == wanted:
            ensure_demo_image(layout.images / "demo", progress, flavour)

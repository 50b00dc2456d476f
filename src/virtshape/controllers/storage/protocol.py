"""The Storage protocol: the interface between the storage controllers and the storage of a node."""

from collections.abc import Callable, Collection
from typing import Literal, Protocol

from msgspec import Struct

from virtshape.api.cdi import Content
from virtshape.resolve.imagedefaults import ImageDefaults

Mode = Literal["Filesystem", "Block"]
State = Literal["waiting", "running", "done", "failed"]
Wake = Callable[[], None]
"""A function that is called in the event loop when a job has ended."""


class Volume(Struct, frozen=True):
    """A directory or block device image, with its size in bytes."""

    name: str
    size: int
    mode: Mode = "Filesystem"


class Blank(Struct, frozen=True):
    """An empty disk."""


class Web(Struct, frozen=True, kw_only=True):
    """A file at an HTTP URL; `authorities` are CA certificates in PEM; if empty, those of the system are used."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    user: str = ""
    password: str = ""
    authorities: str = ""
    checksum: str = ""
    """Expected checksum as `algorithm:hex`; empty if unknown."""


class Container(Struct, frozen=True, kw_only=True):
    """A disk image in a container image."""

    reference: str
    user: str = ""
    password: str = ""
    authorities: str = ""
    architecture: str = ""


class Copy(Struct, frozen=True):
    """A copy of another volume."""

    volume: Volume


class Restore(Struct, frozen=True):
    """A snapshot to restore."""

    snapshot: str


class Upload(Struct, frozen=True):
    """Data that a client uploads; the job waits for it."""


FillSource = Blank | Web | Container | Copy | Restore | Upload


class FillRequest(Struct, frozen=True, kw_only=True):
    """The data to write to a volume."""

    source: FillSource
    content: Content = "kubevirt"
    preallocated: bool = False


class JobStatus(Struct, frozen=True, kw_only=True):
    """Status of a job."""

    state: State
    progress: float | None = None
    """Percentage, if known."""
    size: int = 0
    """Size in bytes, once known."""
    message: str = ""
    """The error, or what the job waits for."""
    final: bool = False
    """True if a retry cannot succeed."""


class StorageError(Exception):
    """A storage operation failed; the message is for users."""


class Storage(Protocol):
    """
    Stores volumes on one node; every call can be repeated, even after a restart.

    Long jobs have a key and run in the background: each call starts the job if needed and returns its status. A higher
    `attempt` restarts the job. Logs and health checks name a job after `owner`, the namespace and name of its object.
    """

    @property
    def provisioner(self) -> str:
        """Provisioner name in storage classes."""

    def locate(self, volume: Volume) -> str:
        """Return the path of a volume: the volume's directory, or the image of its block device."""

    async def make(self, volume: Volume) -> None:
        """Create the volume, or expand it to its size; existing content is preserved."""

    async def make_usable(self, volume: Volume) -> None:
        """Make sure that the volume has a disk image; create an empty one if needed."""

    async def remove(self, name: str) -> None:
        """Remove a volume."""

    async def measure(self, key: str, owner: str, request: FillRequest, attempt: int, wake: Wake) -> JobStatus:
        """Measure the volume size that the request needs; the status has the size when the job is done."""

    async def fill(
        self, key: str, owner: str, volume: Volume, request: FillRequest, attempt: int, wake: Wake
    ) -> JobStatus:
        """Write the requested data to the volume; the data becomes visible only when it is complete."""

    async def read_image_defaults(self, key: str) -> ImageDefaults:
        """Return the defaults of the container image that a finished job imported; empty for other jobs."""

    async def forget(self, key: str) -> None:
        """Cancel a job and remove its data."""

    async def keep_only(self, keys: Collection[str]) -> None:
        """Cancel all jobs except those with these keys, and remove the data of cancelled jobs."""

    def is_being_copied(self, name: str) -> bool:
        """Return True if a running job reads this volume, so that no guest may write to it."""

    async def take_snapshot(self, name: str, owner: str, volume: Volume, wake: Wake) -> JobStatus:
        """Take a snapshot of the volume."""

    async def remove_snapshot(self, name: str) -> None:
        """Remove a snapshot."""

"""
The Storage protocol: what keeps the bytes of volumes on a node, as the controllers of claims and DataVolumes see it.

Only words that both sides share. Where bytes lie and how they get there is not known here.
"""

from collections.abc import Callable, Collection
from typing import Literal, Protocol

from msgspec import Struct

Mode = Literal["Filesystem", "Block"]
Content = Literal["kubevirt", "archive"]
State = Literal["waiting", "running", "done", "failed"]
Wake = Callable[[], None]
"""Called when work has ended, from the event loop."""


class Volume(Struct, frozen=True):
    """A piece of storage: a directory, or the image of a block device; its size in bytes."""

    name: str
    size: int
    mode: Mode = "Filesystem"


class Blank(Struct, frozen=True):
    """Nothing: the disk is empty."""


class Web(Struct, frozen=True, kw_only=True):
    """A file behind a web address; `authorities` is PEM, and empty for those of the system."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    user: str = ""
    password: str = ""
    authorities: str = ""
    checksum: str = ""
    """`algorithm:hex`; empty if nobody knows it."""


class Container(Struct, frozen=True, kw_only=True):
    """A disk image inside a container image."""

    reference: str
    user: str = ""
    password: str = ""
    authorities: str = ""
    architecture: str = ""


class Copy(Struct, frozen=True):
    """Another volume as it is now."""

    volume: Volume


class Restore(Struct, frozen=True):
    """A snapshot."""

    snapshot: str


class Upload(Struct, frozen=True):
    """What somebody hands over; work waits until it is there."""


FillSource = Blank | Web | Container | Copy | Restore | Upload


class FillRequest(Struct, frozen=True, kw_only=True):
    """What is to be put into a volume, and how."""

    source: FillSource
    content: Content = "kubevirt"
    preallocated: bool = False


class JobStatus(Struct, frozen=True, kw_only=True):
    """How far a piece of work is."""

    state: State
    progress: float | None = None
    """Percent, if anybody can tell."""
    size: int = 0
    """Bytes, once they are known."""
    message: str = ""
    """What went wrong, or what is waited for."""
    final: bool = False
    """Whether it went wrong in a way that trying again does not mend."""


class StorageError(Exception):
    """Storage cannot do what it was asked to, in words for the one who asked."""


class Storage(Protocol):
    """
    Keeps volumes on one node; every call may be repeated, also after a restart.

    Work that takes long is known by a key and goes on by itself: each call begins it if it has not begun, and says how
    far it is. A higher `attempt` than before begins it anew.
    """

    @property
    def provisioner(self) -> str:
        """The name by which storage classes ask for this storage."""

    def locate(self, volume: Volume) -> str:
        """Where a volume lies: its directory, or the image of its block device."""

    async def make(self, volume: Volume) -> None:
        """See to it that the volume is there and has its size; what is in it stays."""

    async def make_usable(self, volume: Volume) -> None:
        """See to it that the volume has a disk image, an empty one if nobody has filled it."""

    async def remove(self, name: str) -> None:
        """See to it that nothing is left of a volume."""

    async def measure(self, key: str, request: FillRequest, attempt: int, wake: Wake) -> JobStatus:
        """Find out how large a volume must be for the order."""

    async def fill(self, key: str, volume: Volume, request: FillRequest, attempt: int, wake: Wake) -> JobStatus:
        """Put into the volume what is ordered; nothing of it is seen there before all of it is."""

    async def forget(self, key: str) -> None:
        """End work that nobody wants any more, and leave nothing of it."""

    async def keep_only(self, keys: Collection[str]) -> None:
        """Leave nothing of work that is none of these."""

    def is_being_copied(self, name: str) -> bool:
        """Whether work under way reads the volume of this name, so that nobody may write to it."""

    async def take_snapshot(self, name: str, volume: Volume, wake: Wake) -> JobStatus:
        """Keep a copy of the volume as it is now."""

    async def remove_snapshot(self, name: str) -> None:
        """See to it that nothing is left of a snapshot."""

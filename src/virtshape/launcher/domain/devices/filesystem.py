"""
Directories of the host that a domain shares.

Structs only.
"""

from msgspec import Struct


class Filesystem(Struct, frozen=True):
    """A directory shared by virtiofs."""

    name: str
    """The volume behind it, and the tag by which the guest mounts it."""
    socket: str
    """Where the program listens that serves it."""
    iommu: bool = False

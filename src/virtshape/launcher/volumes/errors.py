"""
Errors of volumes.

    ImageError
    └── VolumeError             all problems of an instance's volumes

Within this package, UnusableVolumeError reports the problem of one volume.
"""

from collections.abc import Sequence

from virtshape.launcher.images.errors import ImageError
from virtshape.launcher.refusal import Refusal


class VolumeError(ImageError):
    """Volumes could not be prepared: each with its field and the reason."""

    def __init__(self, problems: Sequence[Refusal]) -> None:
        super().__init__("; ".join(f"{problem.field}: {problem.reason}" for problem in problems))
        self.problems = tuple(problems)


class UnusableVolumeError(Exception):
    """A volume could not be prepared; `member` is the field of its source that is invalid, if any."""

    def __init__(self, reason: str, member: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.member = member

"""
What stands between an instance and its volumes.

    ImageError
    └── VolumeError             all that is wrong with an instance's volumes, for whoever asked for them

Within this package, an UnusableVolumeError tells what is wrong with one volume.
"""

from collections.abc import Sequence

from virtshape.launcher.images.errors import ImageError
from virtshape.launcher.refusal import Refusal


class VolumeError(ImageError):
    """Volumes that cannot be made ready: each with its field and the reason."""

    def __init__(self, problems: Sequence[Refusal]) -> None:
        super().__init__("; ".join(f"{problem.field}: {problem.reason}" for problem in problems))
        self.problems = tuple(problems)


class UnusableVolumeError(Exception):
    """One volume that cannot be made ready; `member` names the field of its source that is to blame, if one is."""

    def __init__(self, reason: str, member: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.member = member

"""Results of health checks, which `/healthz` and `/readyz` report."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct


class Check(Struct, frozen=True):
    """The result of one check; `failure` is empty if the check passed."""

    failure: str = ""
    required: bool = True
    """True if the process is not ready while the check fails."""

    @property
    def passed(self) -> bool:
        """True if the check passed."""
        return not self.failure


PASSED: Final = Check()
Checks = Callable[[], Mapping[str, Check]]

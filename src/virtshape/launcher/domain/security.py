"""
How a domain is shielded from its host.

Structs only.
"""

from typing import Literal

from msgspec import Struct


class LaunchSecurity(Struct, frozen=True, kw_only=True):
    """One technology of confidential computing."""

    kind: Literal["sev", "sev-snp", "tdx", "s390-pv"]
    policy: int | None = None
    dh_cert: str | None = None
    session: str | None = None

"""
What lets people into a guest: keys and passwords that its agent is to bring in.

Only where they lie; they themselves are never part of a plan or a report.
"""

from msgspec import Struct


class Login(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The files of one secret, and for whom they are."""

    directory: str
    users: tuple[str, ...] = ()
    """Whose authorized keys the contents become; of nobody, each file is the password of the user it is named after."""

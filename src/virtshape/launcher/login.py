"""Access credentials that the guest agent installs: where the secrets are stored, never their contents."""

from msgspec import Struct


class Login(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The files of one secret, and the users they are for."""

    directory: str
    users: tuple[str, ...] = ()
    """Users that get the files as authorized keys; if empty, each file is the password of the user in its name."""

"""The users whose writes admission trusts: the service accounts of virtshape's own components."""

from collections.abc import Collection
from typing import Final

from msgspec import Struct

from virtshape.api.core.serviceaccount import name_account_user

CONTROLLER: Final = "virtshape-controller"
APISERVER: Final = "virtshape-apiserver"


class TrustedUsers(Struct, frozen=True):
    """The users whose writes admission trusts. If `group` is set, trusted users must also be in this group."""

    names: frozenset[str]
    group: str = ""

    def includes(self, name: str, groups: Collection[str]) -> bool:
        """Return True if admission trusts the user with this name and these groups."""
        return name in self.names and (not self.group or self.group in groups)


def get_trusted_users(namespace: str, group: str = "") -> TrustedUsers:
    """Return the trusted users of an installation in this namespace; if `group` is set, they must also be in it."""
    return TrustedUsers(frozenset(name_account_user(namespace, name) for name in (CONTROLLER, APISERVER)), group)

"""
The say of virtshape in writes: VMs and what shapes them are completed and checked.

Decides nothing: that is admission's, which also works without this server.
"""

from typing import Final

from virtshape.admission.admit import admit, has_rules
from virtshape.admission.world import World
from virtshape.apiserver.access.authentication import User
from virtshape.apiserver.objects import Tree
from virtshape.apiserver.route import Route

SYSTEM_ACCOUNTS: Final = "system:serviceaccount:kubevirt:"
"""How the names begin of those who work for the system itself."""


class ShapingAdmission:
    """Completes, checks and refuses VMs, VMIs, instance types, preferences, flavors and DataVolumes."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def admit(
        self, operation: str, route: Route, user: User, new: Tree | None, old: Tree | None, *, dry_run: bool
    ) -> tuple[Tree | None, list[str]]:
        """Let admission have its say in objects; statuses are those of whoever may write them."""
        del dry_run
        if new is None or operation == "DELETE" or route.subresource or not has_rules(route.kind):
            return new, []
        return admit(route.kind, new, old, self._world, trusted=user.name.startswith(SYSTEM_ACCOUNTS))

"""
Which instances have a claim's volume in their hands, so that no two write to it that do not mean to.

Kept in memory, and known again after a restart by what runs.
"""

from collections.abc import Sequence

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.meta import ObjectMeta
from virtshape.controllers.storage.uses import Use, list_uses
from virtshape.controllers.vmi.phases import phase_of

ONE_NODE = "ReadWriteOnce"
ONE_INSTANCE = "ReadWriteOncePod"


class Holds:
    """Who holds which claim."""

    def __init__(self) -> None:
        self._held: dict[str, set[str]] = {}

    def take(
        self,
        claim: PersistentVolumeClaim,
        use: Use,
        vmi: VirtualMachineInstance,
        users: Sequence[VirtualMachineInstance],
    ) -> VirtualMachineInstance | None:
        """Have the instance hold the claim, unless another one, which is returned, is in its way; `users` use it."""
        key, own = _uid(claim.metadata), _uid(vmi.metadata)
        held = self._held[key] = self._held.get(key, set()) & {_uid(user.metadata) for user in users}
        for user in users:
            uid = _uid(user.metadata)
            if uid != own and (uid in held or phase_of(user) == "Running") and not can_share(claim, use, user):
                return user
        held.add(own)
        return None

    def release(self, vmi: VirtualMachineInstance) -> None:
        """Have an instance that does not run hold nothing any more."""
        for held in self._held.values():
            held.discard(_uid(vmi.metadata))


def can_share(claim: PersistentVolumeClaim, use: Use, other: VirtualMachineInstance) -> bool:
    """Whether another instance may have the claim at the same time."""
    modes = (claim.spec.access_modes if claim.spec else None) or ()
    if ONE_INSTANCE in modes:
        return False
    if set(modes) != {ONE_NODE}:
        return True
    theirs = [one for one in list_uses(other) if one.claim == use.claim]
    return all((use.reads and one.reads) or (use.shares and one.shares) for one in theirs)


def _uid(metadata: ObjectMeta | None) -> str:
    return (metadata or ObjectMeta()).uid or ""

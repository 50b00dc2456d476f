"""
Usage of claims: which instances use which claim, and locks that keep two instances from writing to one volume.

Locks are kept in memory; after a restart, running instances count as holders.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.kubevirt.instance import VirtualMachineInstance, is_final
from virtshape.api.kubevirt.volume import Volume
from virtshape.api.meta import ObjectMeta
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.vmi.phases import is_refused, phase_of

ONE_NODE: Final = "ReadWriteOnce"
ONE_INSTANCE: Final = "ReadWriteOncePod"
BY_CLAIM: Final = "claim"
"""Index of instances by the claims that they use."""


class ClaimUse(NamedTuple):
    """A claim that an instance uses, and the name of the instance's volume."""

    volume: str
    claim: str
    read_only: bool
    """True if the instance only reads the volume."""
    shareable: bool
    """True if the instance allows other writers."""


def list_claim_uses(vmi: VirtualMachineInstance) -> list[ClaimUse]:
    """Return the claims that an instance uses."""
    return list(_find_claim_uses(vmi))


def _find_claim_uses(vmi: VirtualMachineInstance) -> Iterator[ClaimUse]:
    shareable = {disk.name for disk in vmi.spec.domain.devices.disks or () if disk.shareable}
    for volume in vmi.spec.volumes or ():
        claim = find_claim_name(volume)
        if claim is not None:
            yield ClaimUse(volume.name, claim, _is_read_only(volume), volume.name in shareable)
    names = {volume.name for volume in vmi.spec.volumes or ()}
    for status in (vmi.status.volume_status if vmi.status else None) or ():
        info = status.persistent_volume_claim_info
        if status.hotplug_volume is not None and status.name not in names and info is not None and info.claim_name:
            # The volume was removed from the spec, but is still attached.
            yield ClaimUse(status.name, info.claim_name, read_only=False, shareable=False)
    for utility in vmi.spec.utility_volumes or ():
        yield ClaimUse(utility.name, utility.claim_name, bool(utility.read_only), shareable=True)


def find_claim_name(volume: Volume) -> str | None:
    """Return the claim name of a volume, or None."""
    if volume.data_volume is not None:
        return volume.data_volume.name
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    if volume.ephemeral is not None and volume.ephemeral.persistent_volume_claim is not None:
        return volume.ephemeral.persistent_volume_claim.claim_name
    if volume.memory_dump is not None:
        return volume.memory_dump.claim_name
    return None


def _is_read_only(volume: Volume) -> bool:
    claim = volume.persistent_volume_claim
    return volume.ephemeral is not None or bool(claim is not None and claim.read_only)


def list_claim_keys(vmi: VirtualMachineInstance) -> list[str]:
    """Return the keys of the claims that an instance uses, as `namespace/name`."""
    namespace = vmi.metadata.namespace or ""
    return [f"{namespace}/{use.claim}" for use in list_claim_uses(vmi)]


def list_claim_users(cache: Cache, claim: PersistentVolumeClaim) -> list[VirtualMachineInstance]:
    """Return the instances that use a claim or will use it, except those that have ended or were refused."""
    metadata = claim.metadata
    found = cache.find_by(VirtualMachineInstance, BY_CLAIM, f"{metadata.namespace}/{metadata.name}")
    return [vmi for vmi in found if not is_final(vmi) and not is_refused(vmi)]


def format_users(users: Sequence[VirtualMachineInstance]) -> str:
    """Format instance names for messages."""
    return ", ".join(f"VirtualMachineInstance {user.metadata.name}" for user in users)


class ClaimLocks:
    """Locks that instances hold on claims."""

    def __init__(self) -> None:
        self._holders: dict[str, set[str]] = {}

    def acquire(
        self,
        claim: PersistentVolumeClaim,
        use: ClaimUse,
        vmi: VirtualMachineInstance,
        users: Sequence[VirtualMachineInstance],
    ) -> VirtualMachineInstance | None:
        """Lock the claim for the instance and return None; if one of `users` conflicts, return it and do not lock."""
        key, own = _uid(claim.metadata), _uid(vmi.metadata)
        holders = self._holders[key] = self._holders.get(key, set()) & {_uid(user.metadata) for user in users}
        for user in users:
            uid = _uid(user.metadata)
            if uid != own and (uid in holders or phase_of(user) == "Running") and not can_share(claim, use, user):
                return user
        holders.add(own)
        return None

    def release(self, vmi: VirtualMachineInstance) -> None:
        """Release all locks of an instance."""
        for holders in self._holders.values():
            holders.discard(_uid(vmi.metadata))


def can_share(claim: PersistentVolumeClaim, use: ClaimUse, other: VirtualMachineInstance) -> bool:
    """Return True if this use and the other instance's uses of the claim are allowed at the same time."""
    modes = (claim.spec.access_modes if claim.spec else None) or ()
    if ONE_INSTANCE in modes:
        return False
    if set(modes) != {ONE_NODE}:
        return True
    theirs = [one for one in list_claim_uses(other) if one.claim == use.claim]
    return all((use.read_only and one.read_only) or (use.shareable and one.shareable) for one in theirs)


def _uid(metadata: ObjectMeta) -> str:
    return metadata.uid or ""

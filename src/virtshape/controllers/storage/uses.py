"""
Who uses which claim: the claims behind an instance's volumes, and the instances that hold on to one.

Reads what is at hand, and nothing else.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.volume import Volume
from virtshape.api.meta import ObjectMeta
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.vm.runstrategy import is_final
from virtshape.controllers.vmi.phases import is_refused

BY_CLAIM: Final = "claim"
"""The index of instances by the claims that they use."""


class Use(NamedTuple):
    """A claim in the hands of an instance."""

    volume: str
    claim: str
    reads: bool
    """Whether the instance only reads it."""
    shares: bool
    """Whether the instance expects others to write to it too."""


def list_uses(vmi: VirtualMachineInstance) -> list[Use]:
    """The claims that an instance uses."""
    return list(_find_uses(vmi))


def _find_uses(vmi: VirtualMachineInstance) -> Iterator[Use]:
    shareable = {disk.name for disk in vmi.spec.domain.devices.disks or () if disk.shareable}
    for volume in vmi.spec.volumes or ():
        claim = find_claim_name(volume)
        if claim is not None:
            yield Use(volume.name, claim, _only_reads(volume), volume.name in shareable)
    for utility in vmi.spec.utility_volumes or ():
        yield Use(utility.name, utility.claim_name, bool(utility.read_only), shares=True)


def find_claim_name(volume: Volume) -> str | None:
    """The claim behind a volume, if there is one."""
    if volume.data_volume is not None:
        return volume.data_volume.name
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    if volume.ephemeral is not None and volume.ephemeral.persistent_volume_claim is not None:
        return volume.ephemeral.persistent_volume_claim.claim_name
    if volume.memory_dump is not None:
        return volume.memory_dump.claim_name
    return None


def _only_reads(volume: Volume) -> bool:
    claim = volume.persistent_volume_claim
    return volume.ephemeral is not None or bool(claim is not None and claim.read_only)


def list_claim_keys(vmi: VirtualMachineInstance) -> list[str]:
    """The claims that an instance uses, as the index has them: `namespace/name`."""
    namespace = (vmi.metadata or ObjectMeta()).namespace or ""
    return [f"{namespace}/{use.claim}" for use in list_uses(vmi)]


def list_users(cache: Cache, claim: PersistentVolumeClaim) -> list[VirtualMachineInstance]:
    """The instances that use a claim, or will as soon as they can: neither ended nor refused."""
    metadata = claim.metadata or ObjectMeta()
    found = cache.find_by(VirtualMachineInstance, BY_CLAIM, f"{metadata.namespace}/{metadata.name}")
    return [vmi for vmi in found if not is_final(vmi) and not is_refused(vmi)]


def name_users(users: Sequence[VirtualMachineInstance]) -> str:
    """Name instances, for people."""
    return ", ".join(f"VirtualMachineInstance {(user.metadata or ObjectMeta()).name}" for user in users)

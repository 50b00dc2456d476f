"""Expanding a VM reads a limited number of objects in other namespaces."""

import pytest

from virtshape.admission.clusterstate import CONFIGURATION
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authorization import Attributes, Decision
from virtshape.apiserver.subresources.crossnamespace import MAX_READS, CallerReads
from virtshape.resolve.reference import Reference


async def allow(_: Attributes) -> Decision:
    return Decision(allowed=True)


def refer(number: int) -> Reference:
    return Reference("", "PersistentVolumeClaim", "other", f"claim-{number}")


async def test_expand_reads_a_limited_number_of_objects_in_other_namespaces() -> None:
    reads = CallerReads("default", allow)
    for number in range(MAX_READS):
        await reads.require(refer(number))
    await reads.require(refer(0))
    with pytest.raises(StatusError, match=f"more than {MAX_READS} objects in other namespaces") as refusal:
        await reads.require(refer(MAX_READS))
    assert refusal.value.code == 400


async def test_expand_requires_permission_only_for_objects_in_other_namespaces() -> None:
    async def deny(_: Attributes) -> Decision:
        return Decision(allowed=False)

    reads = CallerReads("default", deny)
    await reads.require(Reference("", "PersistentVolumeClaim", "default", "claim"))
    await reads.require(Reference("instancetype.kubevirt.io", "VirtualMachineClusterInstancetype", "", "small"))
    await reads.require(CONFIGURATION)
    with pytest.raises(StatusError, match="that you may neither get nor clone") as refusal:
        await reads.require(refer(1))
    assert refusal.value.code == 403

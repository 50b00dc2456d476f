"""Usage of claims by instances, and claim locks."""

from typing import Any

import pytest
from tests.support.caches import FakeCache
from tests.support.instances import build_vmi
from tests.support.storageobjects import build_claim

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.status import HotplugVolumeStatus, PersistentVolumeClaimInfo, VolumeStatus
from virtshape.api.model import JsonObject
from virtshape.controllers.storage.claimusage import (
    ClaimLocks,
    ClaimUse,
    format_users,
    list_claim_keys,
    list_claim_users,
    list_claim_uses,
)

CLAIM: JsonObject = {"name": "a", "persistentVolumeClaim": {"claimName": "c1"}}
SHARED: JsonObject = {"devices": {"disks": [{"name": "a", "disk": {}, "shareable": True}]}}
READ: JsonObject = {"name": "a", "persistentVolumeClaim": {"claimName": "c1", "readOnly": True}}


def test_claims_of_all_volume_types_are_listed() -> None:
    volumes = [
        {"name": "a", "persistentVolumeClaim": {"claimName": "c1"}},
        {"name": "b", "dataVolume": {"name": "c2"}},
        {"name": "c", "ephemeral": {"persistentVolumeClaim": {"claimName": "c3"}}},
        {"name": "d", "memoryDump": {"claimName": "c4"}},
        {"name": "e", "persistentVolumeClaim": {"claimName": "c5", "readOnly": True}},
        {"name": "f", "emptyDisk": {"capacity": "1Gi"}},
    ]
    utility = [{"name": "g", "claimName": "c6", "type": "Backup"}]
    vmi = build_vmi(domain=SHARED, volumes=volumes, utilityVolumes=utility)
    assert list_claim_uses(vmi) == [
        ClaimUse("a", "c1", read_only=False, shareable=True),
        ClaimUse("b", "c2", read_only=False, shareable=False),
        ClaimUse("c", "c3", read_only=True, shareable=False),
        ClaimUse("d", "c4", read_only=False, shareable=False),
        ClaimUse("e", "c5", read_only=True, shareable=False),
        ClaimUse("g", "c6", read_only=False, shareable=True),
    ]
    assert list_claim_keys(vmi)[:2] == ["default/c1", "default/c2"]


def test_claim_is_used_until_the_guest_has_released_its_disk() -> None:
    vmi = build_vmi("Running", volumes=[CLAIM])
    assert vmi.status is not None
    info = PersistentVolumeClaimInfo(claim_name="c2")
    vmi.status.volume_status = [
        VolumeStatus("a", "sda", persistent_volume_claim_info=PersistentVolumeClaimInfo(claim_name="c1")),
        VolumeStatus("b", "sdb", persistent_volume_claim_info=info, hotplug_volume=HotplugVolumeStatus()),
    ]
    assert [use.claim for use in list_claim_uses(vmi)] == ["c1", "c2"]


def test_ended_and_refused_instances_use_no_claim() -> None:
    running = build_vmi("Running", uid="1", name="running", volumes=[CLAIM])
    ended = build_vmi("Succeeded", uid="2", name="ended", volumes=[CLAIM])
    message = {"type": "Synchronized", "status": "False", "reason": "NotPossibleHere"}
    refused = build_vmi("Scheduled", uid="3", name="refused", volumes=[CLAIM], conditions=[message])
    users = list_claim_users(FakeCache(running, ended, refused), build_claim())
    assert users == [running]
    assert format_users(users) == "VirtualMachineInstance running"


def build(uid: str, *phases: str, volume: JsonObject = CLAIM, **more: Any) -> VirtualMachineInstance:
    return build_vmi(*phases, uid=uid, name=f"vm{uid}", volumes=[volume], **more)


@pytest.mark.parametrize(
    ("modes", "first", "second", "together"),
    [
        (["ReadWriteOnce"], build("1"), build("2"), False),
        (["ReadWriteOnce"], build("1", domain=SHARED), build("2", domain=SHARED), True),
        (["ReadWriteOnce"], build("1", domain=SHARED), build("2"), False),
        (["ReadWriteOnce"], build("1", volume=READ), build("2", volume=READ), True),
        (["ReadWriteOnce"], build("1"), build("2", volume=READ), False),
        (["ReadWriteMany"], build("1"), build("2"), True),
        (["ReadWriteOnce", "ReadWriteMany"], build("1"), build("2"), True),
        (["ReadWriteOncePod"], build("1", domain=SHARED), build("2", domain=SHARED), False),
    ],
    ids=[
        "two writers",
        "both share",
        "one shares",
        "two readers",
        "reader and writer",
        "ReadWriteMany",
        "ReadWriteOnce and ReadWriteMany",
        "ReadWriteOncePod",
    ],
)
def test_claim_lock_depends_on_access_modes_and_sharing(
    modes: list[str], first: VirtualMachineInstance, second: VirtualMachineInstance, together: bool
) -> None:
    claim, holds, users = build_claim(accessModes=modes), ClaimLocks(), [first, second]
    assert holds.acquire(claim, list_claim_uses(first)[0], first, users) is None
    assert holds.acquire(claim, list_claim_uses(first)[0], first, users) is None
    assert holds.acquire(claim, list_claim_uses(second)[0], second, users) == (None if together else first)


def test_claim_of_a_running_instance_stays_locked_after_a_controller_restart() -> None:
    running, new = build("1", "Running"), build("2")
    assert ClaimLocks().acquire(build_claim(), list_claim_uses(new)[0], new, [new, running]) == running


def test_claim_lock_is_released_when_its_instance_no_longer_exists() -> None:
    claim, holds, first, second = build_claim(), ClaimLocks(), build("1"), build("2")
    holds.acquire(claim, list_claim_uses(first)[0], first, [first, second])
    assert holds.acquire(claim, list_claim_uses(second)[0], second, [second]) is None
    holds.release(second)
    assert holds.acquire(claim, list_claim_uses(first)[0], first, [first, second]) is None

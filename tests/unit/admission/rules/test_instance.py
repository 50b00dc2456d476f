"""Validation of whole instances: remaining rules, and specs that pass all of them."""

import pytest
from tests.unit.admission.rules.guests import POD, VOLUMES, D, devices, domain, guest, refuse

from virtshape.admission.rules.instance import check_guest
from virtshape.api.model import JsonObject

PINNED: JsonObject = {"dedicatedCpuPlacement": True, "sockets": 2, "cores": 1, "threads": 1}
HUGE: JsonObject = {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}

BROKEN: dict[str, tuple[JsonObject, list[str]]] = {
    "an eviction strategy that is none": (guest(evictionStrategy="Push"), ["spec.evictionStrategy"]),
    "an architecture that is none": (guest(architecture="vax"), ["spec.architecture"]),
    "a clock of two offsets": (domain(clock={"utc": {}, "timezone": "UTC"}), [f"{D}.clock.timezone"]),
    "a tick policy that is none": (
        domain(clock={"timer": {"rtc": {"tickPolicy": "merge"}}}),
        [f"{D}.clock.timer.rtc.tickPolicy"],
    ),
    "a threads policy that is none": (domain(ioThreadsPolicy="many"), [f"{D}.ioThreadsPolicy"]),
    "a pool of no threads": (
        domain(ioThreadsPolicy="supplementalPool"),
        [f"{D}.ioThreads.supplementalPoolThreadCount"],
    ),
}

KEPT: dict[str, JsonObject] = {
    "nothing": guest(),
    "a plain guest": {
        "volumes": [*VOLUMES, {"name": "init", "cloudInitNoCloud": {"userData": "a" * 2048}}],
        "networks": POD,
        "hostname": "a" * 63,
        **devices(
            disks=[
                {
                    "name": "root",
                    "bootOrder": 1,
                    "serial": "A_.+-1",
                    "disk": {"bus": "virtio"},
                    "dedicatedIOThread": True,
                },
                {"name": "init", "cdrom": {"bus": "sata"}},
            ],
            interfaces=[{"name": "default", "masquerade": {}, "bootOrder": 2, "macAddress": "02:00:00:00:00:01"}],
        ),
    },
    "SecureBoot with SMM": domain(firmware={"bootloader": {"efi": {}}}, features={"smm": {}}),
    "CPUs of its own": domain(
        cpu={**PINNED, "isolateEmulatorThread": True, "numa": {"guestMappingPassthrough": {}}, "realtime": {}},
        memory=HUGE,
        resources={"requests": {"cpu": "2"}, "limits": {"cpu": "2"}},
    ),
    "memory that can grow": domain(memory={"guest": "1Gi", "maxGuest": "2Gi"}),
    "memory below its request": domain(memory={"guest": "1Gi"}, resources={"requests": {"memory": "2Gi"}}),
    "a limit of nought": domain(resources={"requests": {"cpu": "1"}, "limits": {"cpu": "0"}}),
    "a subdomain with dots": guest(subdomain="a.b"),
    "searches": guest(dnsConfig={"searches": ["a.b", "c.d.", "."]}),
    "memory overcommitted": domain(memory={"guest": "2Gi"}, resources={"requests": {"memory": "1Gi"}}),
    "a probe over the pod network": guest(readinessProbe={"httpGet": {"port": 80}}),
    "a toleration of everything": guest(tolerations=[{"operator": "Exists"}]),
}


@pytest.mark.parametrize(("tree", "fields"), BROKEN.values(), ids=BROKEN)
def test_violation_is_reported_at_its_field(tree: JsonObject, fields: list[str]) -> None:
    assert [field for field, _ in refuse(check_guest, tree)] == fields


@pytest.mark.parametrize("tree", KEPT.values(), ids=KEPT)
def test_valid_objects_pass(tree: JsonObject) -> None:
    assert refuse(check_guest, tree) == []

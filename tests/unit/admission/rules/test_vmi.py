"""Validation of complete instances: rules that other modules do not test, and specs that pass all rules."""

import pytest
from tests.unit.admission.rules.guests import POD, VOLUMES, D, devices, domain, guest, list_findings

from virtshape.admission.rules.vmi import RESERVED_LABELS, check_guest, check_label_changes, check_labels
from virtshape.api.fielderror import FieldError
from virtshape.api.model import JsonObject

PINNED: JsonObject = {"dedicatedCpuPlacement": True, "sockets": 2, "cores": 1, "threads": 1}
HUGE: JsonObject = {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}

INVALID: dict[str, tuple[JsonObject, list[str]]] = {
    "unknown eviction strategy": (guest(evictionStrategy="Push"), ["spec.evictionStrategy"]),
    "unknown architecture": (guest(architecture="vax"), ["spec.architecture"]),
    "clock with two offsets": (domain(clock={"utc": {}, "timezone": "UTC"}), [f"{D}.clock.timezone"]),
    "unknown tick policy": (
        domain(clock={"timer": {"rtc": {"tickPolicy": "merge"}}}),
        [f"{D}.clock.timer.rtc.tickPolicy"],
    ),
    "unknown I/O threads policy": (domain(ioThreadsPolicy="many"), [f"{D}.ioThreadsPolicy"]),
    "I/O thread pool without a size": (
        domain(ioThreadsPolicy="supplementalPool"),
        [f"{D}.ioThreads.supplementalPoolThreadCount"],
    ),
}

VALID: dict[str, JsonObject] = {
    "empty spec": guest(),
    "ordinary guest": {
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
    "dedicated CPUs": domain(
        cpu={**PINNED, "isolateEmulatorThread": True, "numa": {"guestMappingPassthrough": {}}, "realtime": {}},
        memory=HUGE,
        resources={"requests": {"cpu": "2"}, "limits": {"cpu": "2"}},
    ),
    "memory hotplug": domain(memory={"guest": "1Gi", "maxGuest": "2Gi"}),
    "guest memory below the request": domain(memory={"guest": "1Gi"}, resources={"requests": {"memory": "2Gi"}}),
    "CPU limit 0": domain(resources={"requests": {"cpu": "1"}, "limits": {"cpu": "0"}}),
    "subdomain with dots": guest(subdomain="a.b"),
    "DNS searches": guest(dnsConfig={"searches": ["a.b", "c.d.", "."]}),
    "memory overcommit": domain(memory={"guest": "2Gi"}, resources={"requests": {"memory": "1Gi"}}),
    "probe over the pod network": guest(readinessProbe={"httpGet": {"port": 80}}),
    "toleration of all taints": guest(tolerations=[{"operator": "Exists"}]),
}


@pytest.mark.parametrize(("tree", "fields"), INVALID.values(), ids=INVALID)
def test_invalid_instance_spec_is_reported_at_its_field(tree: JsonObject, fields: list[str]) -> None:
    assert [field for field, _ in list_findings(check_guest, tree)] == fields


@pytest.mark.parametrize("tree", VALID.values(), ids=VALID)
def test_valid_instance_specs_are_accepted(tree: JsonObject) -> None:
    assert list_findings(check_guest, tree) == []


AT = "metadata.labels"
NODE = "kubevirt.io/nodeName"


@pytest.mark.parametrize("label", sorted(RESERVED_LABELS))
def test_reserved_label_on_an_instance_is_reported(label: str) -> None:
    reason = "creation of the following reserved kubevirt.io/ labels on a VMI object is prohibited"
    assert list(check_labels({label: "a", "app": "b"}, AT)) == [
        FieldError(AT, f"{reason}: {label}", "FieldValueNotSupported", rule="unsupported-value")
    ]


def test_labels_that_are_not_reserved_are_accepted() -> None:
    assert list(check_labels({"app": "a", "kubevirt.io/vm": "b", "vm.kubevirt.io/name": "c"}, AT)) == []


@pytest.mark.parametrize(
    ("labels", "before", "count"),
    [
        ({NODE: "a"}, {NODE: "a", "app": "b"}, 0),
        ({}, {"app": "b"}, 0),
        ({NODE: "b"}, {NODE: "a"}, 1),
        ({NODE: "a"}, {}, 1),
        ({}, {NODE: "a"}, 1),
    ],
    ids=["kept", "other labels", "changed", "added", "removed"],
)
def test_only_changes_to_reserved_labels_are_reported(
    labels: dict[str, str], before: dict[str, str], count: int
) -> None:
    found = list(check_label_changes(labels, before, AT))
    reason = (
        "modification of the following reserved kubevirt.io/ labels on a VMI object is prohibited: kubevirt.io/nodeName"
    )
    assert [each.message for each in found] == [reason] * count

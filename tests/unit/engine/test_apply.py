"""The order in which an instance type and a preference are applied; nothing is applied on a conflict."""

import pytest
from tests.support.build import build_instancetype_spec, build_preference_spec, build_spec
from tests.support.engine import apply_to_spec, apply_trees, list_conflicts

from virtshape.api.codec import encode
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.engine.apply import apply
from virtshape.engine.draft import Draft

EVERYTHING: JsonObject = {
    "cpu": {
        "guest": 2,
        "model": "m",
        "dedicatedCPUPlacement": True,
        "isolateEmulatorThread": True,
        "numa": {},
        "realtime": {},
    },
    "memory": {"guest": "2Gi", "hugepages": {}, "maxGuest": "4Gi"},
    "nodeSelector": {"pool": "a"},
    "schedulerName": "given",
    "ioThreads": {"supplementalPoolThreadCount": 2},
    "ioThreadsPolicy": "auto",
    "launchSecurity": {},
    "gpus": [{"name": "g"}],
    "hostDevices": [{"name": "h"}],
    "annotations": {"a": "given"},
}
RIVAL_DOMAIN: JsonObject = {
    "cpu": {
        "guest": 4,
        "sockets": 1,
        "cores": 1,
        "threads": 1,
        "model": "m",
        "dedicatedCpuPlacement": True,
        "isolateEmulatorThread": True,
        "numa": {},
        "realtime": {},
    },
    "memory": {"guest": "1Gi", "hugepages": {}, "maxGuest": "4Gi"},
    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
    "ioThreads": {"supplementalPoolThreadCount": 2},
    "ioThreadsPolicy": "auto",
    "launchSecurity": {},
    "devices": {"gpus": [{"name": "g"}], "hostDevices": [{"name": "h"}]},
}
RIVAL_SPEC: JsonObject = {"nodeSelector": {}, "schedulerName": "own", "annotations": {"a": "own"}}
CLASHES = [
    "nodeSelector",
    "schedulerName",
    "domain.resources.requests.cpu",
    "domain.resources.limits.cpu",
    "domain.cpu.guest",
    "domain.cpu.sockets",
    "domain.cpu.cores",
    "domain.cpu.threads",
    "domain.cpu.model",
    "domain.cpu.dedicatedCPUPlacement",
    "domain.cpu.isolateEmulatorThread",
    "domain.cpu.numa",
    "domain.cpu.realtime",
    "domain.memory.guest",
    "domain.memory.hugepages",
    "domain.memory.maxGuest",
    "domain.resources.requests.memory",
    "domain.resources.limits.memory",
    "domain.ioThreads.supplementalPoolThreadCount",
    "domain.ioThreadsPolicy",
    "domain.launchSecurity",
    "domain.devices.gpus",
    "domain.devices.hostDevices",
    "annotations.a",
]


def test_all_conflicts_are_reported_at_once_and_in_order() -> None:
    assert list_conflicts(RIVAL_DOMAIN, EVERYTHING, **RIVAL_SPEC) == CLASHES


@pytest.mark.parametrize("root", ["spec", "spec.template.spec", "anywhere"])
def test_conflict_paths_start_at_the_given_root_except_for_annotations(root: str) -> None:
    conflicts = apply_trees({"cpu": {"cores": 1}}, EVERYTHING, annotations={"a": "own"}, root=root).conflicts
    assert [c.fields for c in conflicts] == [(f"{root}.domain.cpu.cores",), ("annotations.a",)]


def test_conflict_leaves_spec_and_metadata_unchanged() -> None:
    draft = Draft(ObjectMeta(annotations={"a": "own"}), build_spec(RIVAL_DOMAIN))
    before = encode(draft.spec), encode(draft.metadata)
    preference = build_preference_spec(devices={"preferredRng": {}}, annotations={"b": "1"})
    assert apply(draft, build_instancetype_spec(**EVERYTHING), preference)
    assert (encode(draft.spec), encode(draft.metadata)) == before


def test_spec_is_unchanged_without_instance_type_and_preference() -> None:
    domain = {"devices": {"disks": [{"name": "d"}]}, "memory": {"guest": "1Gi"}}
    assert apply_to_spec(domain) == {"domain": domain}


def test_empty_instance_type_changes_nothing_if_the_vm_has_memory() -> None:
    domain: JsonObject = {"devices": {}, "memory": {"guest": "1Gi"}}
    assert apply_to_spec(domain, {"cpu": None, "memory": None}) == {"domain": domain}


def test_empty_preference_changes_nothing() -> None:
    domain: JsonObject = {"devices": {"disks": [{"name": "d"}]}, "memory": {"guest": "1Gi"}}
    assert apply_to_spec(domain, preference={}) == {"domain": domain}


def test_empty_preference_sections_create_domain_sections() -> None:
    preference: JsonObject = {
        "cpu": {},
        "devices": {},
        "features": {},
        "firmware": {},
        "machine": {},
        "clock": {},
        "volumes": {},
        "requirements": {},
    }
    assert apply_to_spec(preference=preference) == {
        "domain": {"devices": {}, "features": {"acpi": {}}, "firmware": {"bootloader": {}}, "clock": {}}
    }


def test_instance_type_and_preference_are_applied_together() -> None:
    preference: JsonObject = {
        "cpu": {"preferredCPUTopology": "cores", "preferredCPUFeatures": [{"name": "vmx"}]},
        "devices": {"preferredDiskBus": "virtio", "preferredRng": {}},
    }
    shaped = apply_to_spec(
        {"devices": {"disks": [{"name": "d"}]}}, {"cpu": {"guest": 4, "model": "host-passthrough"}}, preference
    )
    assert shaped == {
        "domain": {
            "cpu": {"sockets": 1, "cores": 4, "threads": 1, "model": "host-passthrough", "features": [{"name": "vmx"}]},
            "memory": {"guest": "2Gi"},
            "devices": {"disks": [{"name": "d", "disk": {"bus": "virtio"}}], "rng": {}},
        }
    }


def test_conflicts_and_missing_memory_are_reported_together() -> None:
    conflicts = apply_trees({"cpu": {"cores": 2}}, {"cpu": None, "memory": None}).conflicts
    assert [(c.fields[0], c.reason) for c in conflicts] == [
        ("spec.template.spec.domain.cpu.cores", "FieldValueInvalid"),
        ("spec.template.spec.domain.memory.guest", "FieldValueRequired"),
    ]

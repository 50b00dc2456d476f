"""vCPUs: the count or topology of an instance type, and cpu.guest of the VM."""

import pytest
from tests.support.build import build_preference_spec, build_spec
from tests.support.engine import WITHOUT_SIZE, apply_to_domain, apply_trees, list_conflicts

from virtshape.api.codec import from_tree
from virtshape.api.instancetype.v1beta2 import CPUInstancetype
from virtshape.api.kubevirt.domain import CPU
from virtshape.api.model import JsonObject
from virtshape.api.problems import DecodeError
from virtshape.engine.cpu import check_vcpus_spread
from virtshape.engine.topology import DEPRECATED_TOPOLOGIES, TOPOLOGIES

ROOT = "spec.template.spec"
TOPOLOGY = {"sockets": 3, "cores": 2, "threads": 1}
WITH_TOPOLOGY: JsonObject = {"cpu": {"topology": TOPOLOGY}}
MAX_VCPUS = 2**32 - 1
MEMORY = {"memory": {"guest": "4Gi"}}
GUEST_LAYOUTS = {
    None: {"sockets": 4, "cores": 1, "threads": 1},
    "sockets": {"sockets": 4, "cores": 1, "threads": 1},
    "cores": {"sockets": 1, "cores": 4, "threads": 1},
    "threads": {"sockets": 1, "cores": 1, "threads": 4},
    "any": {"sockets": 4, "cores": 1, "threads": 1},
    "spread": {"sockets": 2, "cores": 2, "threads": 1},
}


def prefer(name: str | None) -> JsonObject:
    return {"cpu": {"preferredCPUTopology": name}}


@pytest.mark.parametrize("name", [None, *TOPOLOGIES, *DEPRECATED_TOPOLOGIES, "diagonal"])
def test_instance_type_topology_overrides_the_preferred_topology(name: str | None) -> None:
    assert apply_to_domain(instancetype=WITH_TOPOLOGY, preference=prefer(name))["cpu"] == TOPOLOGY


@pytest.mark.parametrize(
    ("given", "cpu"),
    [
        pytest.param({"topology": TOPOLOGY}, TOPOLOGY, id="all members"),
        pytest.param({"topology": {"threads": 2}}, {"sockets": 1, "cores": 1, "threads": 2}, id="one member"),
        pytest.param({"topology": {}}, {"sockets": 1, "cores": 1, "threads": 1}, id="no member"),
        pytest.param({"topology": {"sockets": 0}}, {"sockets": 1, "cores": 1, "threads": 1}, id="zero member"),
        pytest.param({"topology": TOPOLOGY, "guest": 8}, TOPOLOGY, id="topology and guest"),
        pytest.param(
            {"topology": {"sockets": MAX_VCPUS, "cores": MAX_VCPUS, "threads": MAX_VCPUS}},
            {"sockets": MAX_VCPUS, "cores": MAX_VCPUS, "threads": MAX_VCPUS},
            id="very large",
        ),
    ],
)
def test_instance_type_topology_is_applied_exactly(given: JsonObject, cpu: JsonObject) -> None:
    assert apply_to_domain(instancetype={"cpu": given})["cpu"] == cpu


@pytest.mark.parametrize("member", ["sockets", "cores", "threads"])
@pytest.mark.parametrize("value", [-1, 2**32, 1.5, "2"])
def test_topology_members_must_be_integers_in_range(member: str, value: object) -> None:
    with pytest.raises(DecodeError):
        from_tree({"topology": {member: value}}, CPUInstancetype)


@pytest.mark.parametrize("given", [{"guest": 2}, {"topology": TOPOLOGY}, None], ids=["guest", "topology", "no size"])
@pytest.mark.parametrize(
    ("domain", "clashes"),
    [
        ({"cpu": {"sockets": 1}}, ["domain.cpu.sockets"]),
        ({"cpu": {"cores": 1}}, ["domain.cpu.cores"]),
        ({"cpu": {"threads": 1}}, ["domain.cpu.threads"]),
        ({"cpu": TOPOLOGY}, ["domain.cpu.sockets", "domain.cpu.cores", "domain.cpu.threads"]),
        ({"cpu": {"sockets": 0, "cores": 0, "threads": 0}}, []),
        ({"resources": {"requests": {"cpu": "1"}}}, ["domain.resources.requests.cpu"]),
        ({"resources": {"requests": {"cpu": "0"}}}, ["domain.resources.requests.cpu"]),
        ({"resources": {"limits": {"cpu": "1"}}}, ["domain.resources.limits.cpu"]),
        (
            {"cpu": {"cores": 2}, "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}},
            ["domain.resources.requests.cpu", "domain.resources.limits.cpu", "domain.cpu.cores"],
        ),
    ],
)
def test_vm_cpu_fields_conflict_with_an_instance_type(
    given: JsonObject | None, domain: JsonObject, clashes: list[str]
) -> None:
    assert list_conflicts(domain, {"cpu": given}) == clashes


@pytest.mark.parametrize("given", [{"guest": 2}, {"topology": TOPOLOGY}, {"guest": 2, "topology": TOPOLOGY}])
def test_vcpu_count_of_the_vm_conflicts_with_that_of_the_instance_type(given: JsonObject) -> None:
    assert list_conflicts({"cpu": {"guest": 4}}, {"cpu": given}) == ["domain.cpu.guest"]


@pytest.mark.parametrize(
    ("field", "own"),
    [
        ("model", "host-model"),
        ("dedicatedCpuPlacement", True),
        ("isolateEmulatorThread", True),
        ("numa", {}),
        ("realtime", {}),
        ("features", [{"name": "vmx"}]),
    ],
)
def test_vm_cpu_fields_are_kept_if_the_instance_type_sets_none(field: str, own: object) -> None:
    expected = {"sockets": 2, "cores": 1, "threads": 1, field: own}
    assert apply_to_domain({"cpu": {field: own}}, {"cpu": {"guest": 2}})["cpu"] == expected


@pytest.mark.parametrize(
    ("own", "given"),
    [
        ({"model": ""}, {"model": "Skylake-Server"}),
        ({"dedicatedCpuPlacement": False}, {"dedicatedCPUPlacement": True}),
        ({"isolateEmulatorThread": False}, {"isolateEmulatorThread": True}),
    ],
    ids=["no model", "not dedicated", "not isolated"],
)
def test_empty_cpu_fields_of_the_vm_do_not_conflict(own: JsonObject, given: JsonObject) -> None:
    assert list_conflicts({"cpu": own}, {"cpu": {"guest": 2, **given}}) == []


@pytest.mark.parametrize(
    ("own", "given", "result"),
    [
        pytest.param(None, 8, {"maxSockets": 8}, id="instance type"),
        pytest.param(4, 8, {"maxSockets": 8}, id="overridden"),
        pytest.param(4, None, {"maxSockets": 4}, id="kept"),
        pytest.param(4, 0, {}, id="removed"),
    ],
)
def test_max_sockets_never_conflicts(own: int | None, given: int | None, result: JsonObject) -> None:
    cpu = apply_to_domain({"cpu": {"maxSockets": own}}, {"cpu": {"guest": 1, "maxSockets": given}})["cpu"]
    assert cpu == {"sockets": 1, "cores": 1, "threads": 1, **result}


@pytest.mark.parametrize(("name", "cpu"), GUEST_LAYOUTS.items())
@pytest.mark.parametrize("instancetype", [None, WITHOUT_SIZE, {"cpu": {}, "memory": {}}], ids=["none", "bare", "empty"])
def test_cpu_guest_of_the_vm_is_replaced_with_a_topology(
    name: str | None, cpu: JsonObject, instancetype: JsonObject | None
) -> None:
    domain = {"cpu": {"guest": 4}, **MEMORY}
    preference = None if name is None else prefer(name)
    assert apply_to_domain(domain, instancetype, preference) == {"devices": {}, "cpu": cpu, **MEMORY}


def test_cpu_guest_of_the_vm_becomes_cores_with_a_flavor() -> None:
    cpu = apply_to_domain({"cpu": {"guest": 4}}, layout="cores")["cpu"]
    assert cpu == {"sockets": 1, "cores": 4, "threads": 1}


def test_replacing_cpu_guest_with_a_topology_keeps_other_cpu_fields() -> None:
    cpu = apply_to_domain({"cpu": {"guest": 4, "model": "host-model", "maxSockets": 8}})["cpu"]
    assert cpu == {"sockets": 4, "cores": 1, "threads": 1, "model": "host-model", "maxSockets": 8}


def test_cpu_fields_of_an_instance_type_without_a_size_apply_to_a_vm_with_cpu_guest() -> None:
    given: JsonObject = {"cpu": {"dedicatedCPUPlacement": True, "numa": {}}, "memory": None}
    cpu = apply_to_domain({"cpu": {"guest": 4}, **MEMORY}, given)["cpu"]
    assert cpu == {"sockets": 4, "cores": 1, "threads": 1, "dedicatedCpuPlacement": True, "numa": {}}


@pytest.mark.parametrize(
    "resources",
    [{"requests": {"cpu": "8"}}, {"limits": {"cpu": "8"}}, {"requests": {"cpu": "2"}, "limits": {"cpu": "3"}}],
    ids=["requests", "limits", "both"],
)
def test_cpu_guest_of_the_vm_overrides_requests_and_limits(resources: JsonObject) -> None:
    domain = apply_to_domain({"cpu": {"guest": 4}, "resources": resources})
    assert domain == {
        "devices": {},
        "cpu": {"sockets": 4, "cores": 1, "threads": 1},
        "resources": resources,
    }


@pytest.mark.parametrize("instancetype", [None, WITHOUT_SIZE], ids=["no instance type", "no size"])
@pytest.mark.parametrize("member", ["sockets", "cores", "threads"])
def test_cpu_guest_excludes_sockets_cores_and_threads(instancetype: JsonObject | None, member: str) -> None:
    shaped = apply_trees({"cpu": {"guest": 4, member: 2}, **MEMORY}, instancetype)
    assert [c.fields for c in shaped.conflicts] == [(f"{ROOT}.domain.cpu.{member}",)]


def test_every_topology_member_set_together_with_cpu_guest_is_reported() -> None:
    conflicts = apply_trees({"cpu": {"guest": 4, **TOPOLOGY}}).conflicts
    assert [c.message for c in conflicts] == [
        f"{ROOT}.domain.cpu.{member} and {ROOT}.domain.cpu.guest are mutually exclusive: keep one of them"
        for member in ("sockets", "cores", "threads")
    ]


@pytest.mark.parametrize("instancetype", [None, WITHOUT_SIZE], ids=["no instance type", "no size"])
def test_cpu_guest_of_zero_is_a_conflict(instancetype: JsonObject | None) -> None:
    conflicts = apply_trees({"cpu": {"guest": 0}, **MEMORY}, instancetype).conflicts
    assert [(c.fields, c.message) for c in conflicts] == [
        (
            (f"{ROOT}.domain.cpu.guest",),
            f"{ROOT}.domain.cpu.guest must be 1 or more; leave it out to get one vCPU",
        )
    ]


@pytest.mark.parametrize("guest", [-1, 2**32, 1.5, "4"])
def test_cpu_guest_must_be_an_integer_in_range(guest: object) -> None:
    with pytest.raises(DecodeError):
        from_tree({"guest": guest}, CPU)


def test_maximum_cpu_guest_is_replaced_with_a_topology() -> None:
    assert apply_to_domain({"cpu": {"guest": MAX_VCPUS}})["cpu"] == {"sockets": MAX_VCPUS, "cores": 1, "threads": 1}


@pytest.mark.parametrize(
    ("given", "own", "field", "giver"),
    [
        pytest.param(
            {"guest": 5}, None, "instancetype.spec.cpu.guest", "the instance type", id="count in the instance type"
        ),
        pytest.param(
            {"topology": {"cores": 5}},
            None,
            "instancetype.spec.cpu.topology",
            "the instance type",
            id="topology in the instance type",
        ),
        pytest.param(None, 5, f"{ROOT}.domain.cpu.guest", "the VM", id="count in the VM"),
        pytest.param({}, 5, f"{ROOT}.domain.cpu.guest", "the VM", id="count in the VM, instance type without a size"),
    ],
)
def test_uneven_spread_conflict_names_the_field_that_sets_the_vcpus(
    given: JsonObject | None, own: int | None, field: str, giver: str
) -> None:
    cpu = build_spec({"cpu": {"guest": own}}).domain.cpu
    instancetype = None if given is None else from_tree(given, CPUInstancetype)
    conflict = check_vcpus_spread(cpu, ROOT, instancetype, build_preference_spec(**prefer("spread")))
    assert conflict is not None
    assert conflict.fields == (field,)
    assert conflict.message.startswith(f"5 vCPUs provided by {giver} are not divisible by ")


@pytest.mark.parametrize("own", [None, {}, {"guest": None}, {"sockets": 5}])
def test_spread_is_not_checked_without_a_vcpu_count(own: JsonObject | None) -> None:
    cpu = build_spec({"cpu": own}).domain.cpu
    assert check_vcpus_spread(cpu, ROOT, None, build_preference_spec(**prefer("spread"))) is None


def test_preferred_cpu_features_are_merged_by_name() -> None:
    own = [{"name": "aes", "policy": "disable"}]
    preferred = [{"name": "aes", "policy": "require"}, {"name": "vmx"}]
    domain = apply_to_domain({"cpu": {"features": own}}, preference={"cpu": {"preferredCPUFeatures": preferred}})
    assert domain["cpu"]["features"] == [{"name": "aes", "policy": "disable"}, {"name": "vmx"}]

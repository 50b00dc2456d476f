"""Requirements of a preference: vCPUs, memory and architecture of the VM or its instance type."""

import pytest
from tests.support.build import build_instancetype_spec, build_preference_spec, build_spec

from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.model import JsonObject
from virtshape.engine.requirements import check_requirements
from virtshape.engine.topology import ACROSS, TOPOLOGIES

CPU = "spec.template.spec.domain.cpu"
MEMORY = "spec.template.spec.domain.memory"
MAX_VCPUS = 2**32 - 1


def check(
    requirements: JsonObject,
    *,
    instancetype: JsonObject | None = None,
    domain: JsonObject | None = None,
    own_vcpus: int | None = None,
    cpu: JsonObject | None = None,
    **spec: object,
) -> list[FieldError]:
    return check_requirements(
        None if instancetype is None else build_instancetype_spec(**instancetype),
        build_preference_spec(requirements=requirements, cpu=cpu),
        build_spec(domain, **spec),
        own_vcpus,
    )


def unmet(fields: str | tuple[str, ...], message: str) -> list[FieldError]:
    joined = ", ".join((fields,) if isinstance(fields, str) else fields)
    return [FieldError(joined, message, "FieldValueNotFound", "unmet-requirement")]


@pytest.mark.parametrize("preference", [None, build_preference_spec(), build_preference_spec(requirements={})])
def test_preference_without_requirements_accepts_every_vm(preference: VirtualMachinePreferenceSpec | None) -> None:
    assert check_requirements(None, preference, build_spec()) == []


@pytest.mark.parametrize(
    ("given", "vcpus"),
    [
        ({"guest": 3}, 3),
        ({"topology": {"sockets": 3}}, 3),
        ({"topology": {"cores": 3}}, 3),
        ({"topology": {"threads": 3}}, 3),
        ({"topology": {}}, 1),
        ({"topology": {"sockets": 1, "cores": 3, "threads": 1}, "guest": 8}, 3),
    ],
    ids=["number", "sockets", "cores", "threads", "one of each", "topology before count"],
)
@pytest.mark.parametrize("name", [None, *TOPOLOGIES])
def test_vcpus_of_the_instance_type_meet_the_requirement_in_any_layout(
    given: JsonObject, vcpus: int, name: str | None
) -> None:
    preferred = {"preferredCPUTopology": name}
    assert check({"cpu": {"guest": vcpus}}, instancetype={"cpu": given}, cpu=preferred) == []
    assert check({"cpu": {"guest": vcpus + 1}}, instancetype={"cpu": given}, cpu=preferred) == unmet(
        "spec.instancetype",
        f"insufficient CPU resources of {vcpus} vCPU provided by instance type, preference requires {vcpus + 1} vCPU",
    )


def test_very_large_topology_meets_any_requirement() -> None:
    given = {"cpu": {"topology": {"sockets": MAX_VCPUS, "cores": MAX_VCPUS, "threads": MAX_VCPUS}}}
    assert check({"cpu": {"guest": MAX_VCPUS}}, instancetype=given) == []


@pytest.mark.parametrize("instancetype", [None, {"cpu": None}, {"cpu": {}}], ids=["no type", "no size", "empty"])
@pytest.mark.parametrize("name", [None, *TOPOLOGIES])
def test_cpu_guest_of_the_vm_must_meet_the_requirement_and_is_named_in_the_error(
    instancetype: JsonObject | None, name: str | None
) -> None:
    preferred = {"preferredCPUTopology": name}
    domain = {"cpu": {"guest": 3}}
    assert check({"cpu": {"guest": 3}}, instancetype=instancetype, domain=domain, cpu=preferred) == []
    assert check({"cpu": {"guest": 4}}, instancetype=instancetype, domain=domain, cpu=preferred) == unmet(
        f"{CPU}.guest", "insufficient CPU resources of 3 vCPU provided by VirtualMachine, preference requires 4 vCPU"
    )


def test_cpu_guest_replaced_with_a_topology_still_meets_the_requirement() -> None:
    laid_out = {"cpu": {"sockets": 1, "cores": 4, "threads": 1}}
    assert check({"cpu": {"guest": 4}}, domain=laid_out, own_vcpus=4) == []


def test_unset_vcpus_count_as_one_with_an_instance_type_without_a_size() -> None:
    sizeless: JsonObject = {"cpu": None, "memory": None}
    assert check({"cpu": {"guest": 1}}, instancetype=sizeless) == []
    assert check({"cpu": {"guest": 2}}, instancetype=sizeless) == unmet(
        f"{CPU}.guest", "insufficient CPU resources of 1 vCPU provided by VirtualMachine, preference requires 2 vCPU"
    )


def test_vm_without_cpu_fails_a_cpu_requirement() -> None:
    assert check({"cpu": {"guest": 2}}) == unmet(
        CPU, "no CPU resources provided by VirtualMachine, preference requires 2 vCPU"
    )


@pytest.mark.parametrize(
    ("preferred", "cpu", "given", "shape", "members"),
    [
        (None, {"sockets": 3, "cores": 9}, 3, "sockets", ("sockets",)),
        ("sockets", {"sockets": 3, "cores": 9}, 3, "sockets", ("sockets",)),
        ("cores", {"sockets": 9, "cores": 3}, 3, "cores", ("cores",)),
        ("threads", {"sockets": 9, "threads": 3}, 3, "threads", ("threads",)),
        (
            "any",
            {"sockets": 3, "cores": 1, "threads": 1},
            3,
            "cores, sockets and threads",
            ("cores", "sockets", "threads"),
        ),
        ("any", {"sockets": 9}, 0, "cores, sockets and threads", ("cores", "sockets", "threads")),
        ("spread", {"sockets": 3, "cores": 1}, 3, "SocketsCores", ("sockets", "cores")),
        ("spread", {"sockets": 9}, 0, "SocketsCores", ("sockets", "cores")),
    ],
)
def test_preferred_topology_members_count_as_vcpus(
    preferred: str | None, cpu: JsonObject, given: int, shape: str, members: tuple[str, ...]
) -> None:
    conflicts = check({"cpu": {"guest": 4}}, domain={"cpu": cpu}, cpu={"preferredCPUTopology": preferred})
    message = f"insufficient CPU resources of {given} vCPU provided by VirtualMachine, preference requires 4 vCPU"
    assert conflicts == unmet(tuple(f"{CPU}.{member}" for member in members), f"{message} provided as {shape}")


@pytest.mark.parametrize("across", ACROSS)
def test_only_topology_levels_in_the_spread_options_count_as_vcpus(across: str) -> None:
    preferred = {"preferredCPUTopology": "spread", "spreadOptions": {"across": across}}
    cpu = {"sockets": 2, "cores": 2, "threads": 2}
    counted = 8 if across == "SocketsCoresThreads" else 4
    assert check({"cpu": {"guest": counted}}, domain={"cpu": cpu}, cpu=preferred) == []
    assert len(check({"cpu": {"guest": counted + 1}}, domain={"cpu": cpu}, cpu=preferred)) == 1


def test_unknown_spread_levels_count_as_no_vcpus() -> None:
    preferred = {"preferredCPUTopology": "spread", "spreadOptions": {"across": "elsewhere"}}
    cpu = {"sockets": 2, "cores": 2, "threads": 2}
    message = "insufficient CPU resources of 0 vCPU provided by VirtualMachine, preference requires 2 vCPU"
    found = check({"cpu": {"guest": 2}}, domain={"cpu": cpu}, cpu=preferred)
    assert found == unmet((CPU,), f"{message} provided as elsewhere")


@pytest.mark.parametrize(
    ("instancetype", "domain", "given", "giver", "field"),
    [
        pytest.param({}, {"memory": {"guest": "2Gi"}}, "2Gi", "instance type", "spec.instancetype", id="instance type"),
        pytest.param({}, {}, "2Gi", "instance type", "spec.instancetype", id="instance type that is not applied yet"),
        pytest.param(None, {"memory": {"guest": "1Gi"}}, "1Gi", "VirtualMachine", MEMORY, id="VM"),
        pytest.param({"memory": None}, {"memory": {"guest": "1Gi"}}, "1Gi", "VirtualMachine", MEMORY, id="no size"),
        pytest.param(None, {}, "0", "VirtualMachine", MEMORY, id="unset"),
    ],
)
def test_insufficient_memory_error_names_the_field_that_sets_the_memory(
    instancetype: JsonObject | None, domain: JsonObject, given: str, giver: str, field: str
) -> None:
    assert check({"memory": {"guest": "4Gi"}}, instancetype=instancetype, domain=domain) == unmet(
        field, f"insufficient Memory resources of {given} provided by {giver}, preference requires 4Gi"
    )


@pytest.mark.parametrize("required", ["2Gi", "2048Mi", "2147483648", "1", "0"])
def test_equal_quantities_in_any_notation_meet_the_requirement(required: str) -> None:
    assert check({"memory": {"guest": required}}, domain={"memory": {"guest": "2Gi"}}) == []


@pytest.mark.parametrize("own", [None, "", "amd64", "ARM64"])
def test_required_architecture_must_match_exactly(own: str | None) -> None:
    assert check({"architecture": "arm64"}, architecture="arm64") == []
    assert check({"architecture": "arm64"}, architecture=own) == unmet(
        "spec.template.spec.architecture",
        f"preference requires architecture arm64 but {own or ''} is being requested",
    )


def test_all_unmet_requirements_are_reported_at_once() -> None:
    required = {"cpu": {"guest": 8}, "memory": {"guest": "8Gi"}, "architecture": "s390x"}
    conflicts = check(required, instancetype={}, architecture="amd64")
    assert [c.fields for c in conflicts] == [
        ("spec.instancetype",),
        ("spec.instancetype",),
        ("spec.template.spec.architecture",),
    ]

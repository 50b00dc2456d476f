"""Validation of instance types, flavors and preferences."""

import pytest
from tests.support.build import build_flavor, build_instancetype_spec, build_preference_spec

from virtshape.admission.instancetype import check_instancetype, check_preference
from virtshape.api.codec import from_tree
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.model import JsonObject
from virtshape.api.problems import DecodeError
from virtshape.engine.topology import ACROSS, DEPRECATED_TOPOLOGIES, TOPOLOGIES
from virtshape.resolve.find import instancetype_spec

OLDER = ("v1alpha1", "v1alpha2", "v1beta1")
VERSIONS = (*OLDER, "v1beta2")
Causes = list[tuple[str, str]]


def list_causes(version: str = "v1beta2", **spec: object) -> Causes:
    result = check_instancetype(build_instancetype_spec(**spec), version)
    return [(cause.reason, cause.field) for cause in result.causes]


def list_preference_causes(**spec: object) -> Causes:
    return [(cause.reason, cause.field) for cause in check_preference(build_preference_spec(**spec)).causes]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "cpu",
    [
        {"guest": 1},
        {"topology": {"sockets": 3, "cores": 2, "threads": 1}},
        {"topology": {"cores": 2}},
        {"topology": {}},
    ],
    ids=["number", "topology", "one member", "no member"],
)
def test_vcpu_count_or_topology_is_valid_at_every_version(version: str, cpu: JsonObject) -> None:
    assert list_causes(version, cpu=cpu) == []


@pytest.mark.parametrize("cpu", [None, {}, {"model": "m"}], ids=["none", "empty", "only a model"])
def test_vcpus_are_optional_only_at_v1beta2(cpu: JsonObject | None) -> None:
    assert list_causes("v1beta2", cpu=cpu) == []
    for version in OLDER:
        assert list_causes(version, cpu=cpu) == [("FieldValueRequired", "spec.cpu.guest")]


@pytest.mark.parametrize("memory", [None, {}, {"hugepages": {}}], ids=["none", "empty", "only hugepages"])
def test_memory_is_optional_only_at_v1beta2(memory: JsonObject | None) -> None:
    assert list_causes("v1beta2", memory=memory) == []
    for version in OLDER:
        assert list_causes(version, memory=memory) == [("FieldValueRequired", "spec.memory.guest")]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("cpu", "causes"),
    [
        pytest.param(
            {"guest": 2, "topology": {"cores": 2}},
            [("FieldValueInvalid", "spec.cpu.topology")],
            id="number and topology",
        ),
        pytest.param(
            {"topology": {"sockets": 0}}, [("FieldValueInvalid", "spec.cpu.topology.sockets")], id="no sockets"
        ),
        pytest.param(
            {"guest": 2, "topology": {"sockets": 0, "cores": 0, "threads": 0}},
            [
                ("FieldValueInvalid", "spec.cpu.topology"),
                ("FieldValueInvalid", "spec.cpu.topology.sockets"),
                ("FieldValueInvalid", "spec.cpu.topology.cores"),
                ("FieldValueInvalid", "spec.cpu.topology.threads"),
            ],
            id="everything",
        ),
    ],
)
def test_invalid_vcpus_are_rejected_at_every_version(version: str, cpu: JsonObject, causes: Causes) -> None:
    assert list_causes(version, cpu=cpu) == causes


@pytest.mark.parametrize("cpu", [{"guest": -1}, {"topology": {"cores": -1}}, {"topology": {"threads": 2**32}}])
def test_vcpu_numbers_out_of_range_are_decode_errors(cpu: JsonObject) -> None:
    with pytest.raises(DecodeError):
        from_tree({"cpu": cpu}, VirtualMachineInstancetypeSpec)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("memory", "causes"),
    [
        ({"guest": "-1Gi"}, [("FieldValueInvalid", "spec.memory.guest")]),
        ({"guest": "1Gi", "overcommitPercent": -1}, [("FieldValueInvalid", "spec.memory.overcommitPercent")]),
        ({"guest": "1Gi", "overcommitPercent": 101}, [("FieldValueInvalid", "spec.memory.overcommitPercent")]),
        (
            {"guest": "1Gi", "overcommitPercent": 15, "hugepages": {}},
            [("FieldValueInvalid", "spec.memory.overcommitPercent")],
        ),
        (
            {"guest": "1Gi", "overcommitPercent": 101, "hugepages": {}},
            [("FieldValueInvalid", "spec.memory.overcommitPercent")] * 2,
        ),
        ({"guest": "1Gi", "overcommitPercent": 0, "hugepages": {}}, []),
        ({"guest": "1Gi", "overcommitPercent": 100}, []),
    ],
    ids=[
        "negative",
        "negative overcommit",
        "overcommit too large",
        "overcommit with hugepages",
        "two problems",
        "hugepages without overcommit",
        "all",
    ],
)
def test_memory_is_validated_in_the_same_way_at_every_version(version: str, memory: JsonObject, causes: Causes) -> None:
    assert list_causes(version, memory=memory) == causes


@pytest.mark.parametrize("version", OLDER)
def test_instancetype_sizes_of_0_are_accepted_with_a_warning_before_v1beta2(version: str) -> None:
    result = check_instancetype(build_instancetype_spec(cpu={"guest": 0}, memory={"guest": "0"}), version)
    assert result.causes == []
    assert [warning.partition(":")[0] for warning in result.warnings] == ["spec.cpu.guest", "spec.memory.guest"]


@pytest.mark.parametrize("version", OLDER)
def test_0_vcpus_do_not_exclude_a_topology_before_v1beta2(version: str) -> None:
    assert list_causes(version, cpu={"guest": 0, "topology": {"cores": 2}}) == []


def test_instancetype_sizes_of_0_are_rejected_at_v1beta2() -> None:
    assert list_causes("v1beta2", cpu={"guest": 0}, memory={"guest": "0"}) == [
        ("FieldValueInvalid", "spec.cpu.guest"),
        ("FieldValueInvalid", "spec.memory.guest"),
    ]


def test_all_problems_of_an_instancetype_are_reported_at_once() -> None:
    assert list_causes("v1beta1", cpu=None, memory={"overcommitPercent": 101}) == [
        ("FieldValueRequired", "spec.cpu.guest"),
        ("FieldValueRequired", "spec.memory.guest"),
        ("FieldValueInvalid", "spec.memory.overcommitPercent"),
    ]


def test_flavor_requires_memory() -> None:
    flavor = instancetype_spec(build_flavor(memory={}))
    assert flavor is not None
    assert [cause.field for cause in check_instancetype(flavor, "v1alpha1").causes] == ["spec.memory.guest"]


def test_launch_security_in_an_instancetype_causes_a_warning() -> None:
    result = check_instancetype(build_instancetype_spec(launchSecurity={"tdx": {}}), "v1beta2")
    assert result.causes == []
    assert len(result.warnings) == 1
    assert check_instancetype(build_instancetype_spec(cpu={"guest": 0}, launchSecurity={}), "v1beta2").warnings == []


@pytest.mark.parametrize("name", [None, *TOPOLOGIES, *DEPRECATED_TOPOLOGIES])
def test_known_preferred_topology_is_accepted_and_a_deprecated_one_causes_a_warning(name: str | None) -> None:
    result = check_preference(build_preference_spec(cpu={"preferredCPUTopology": name}))
    assert result.causes == []
    if name in DEPRECATED_TOPOLOGIES:
        (warning,) = result.warnings
        assert name in warning
        assert warning.endswith(f"please use {DEPRECATED_TOPOLOGIES[name]} instead")
    else:
        assert result.warnings == []


@pytest.mark.parametrize("name", ["", "Sockets", "diagonal"])
def test_unknown_preferred_topology_is_rejected(name: str) -> None:
    field = "spec.cpu.preferredCPUTopology"
    assert list_preference_causes(cpu={"preferredCPUTopology": name}) == [("FieldValueInvalid", field)]


@pytest.mark.parametrize("name", ["spread", "preferSpread"])
@pytest.mark.parametrize(
    ("options", "legacy", "field"),
    [
        pytest.param(None, None, None, id="no options"),
        pytest.param({"across": "SocketsCores", "ratio": 4}, None, None, id="sockets and cores"),
        pytest.param({"across": "SocketsCoresThreads", "ratio": 3}, None, None, id="all three"),
        pytest.param({"across": "CoresThreads"}, None, None, id="cores and threads"),
        pytest.param({"across": "CoresThreads", "ratio": 2}, 4, None, id="cores and threads with ratio 2"),
        pytest.param({"across": "CoresThreads", "ratio": 4}, None, "ratio", id="cores and threads with ratio 4"),
        pytest.param({"across": "CoresThreads"}, 4, "ratio", id="deprecated field"),
        pytest.param({"across": "CoresThreads"}, 0, None, id="deprecated field with ratio 0"),
        pytest.param({"across": "Nodes"}, None, "across", id="unknown across value"),
        pytest.param({"across": ""}, None, "across", id="empty across value"),
        pytest.param({"ratio": 0}, None, "ratio", id="ratio 0"),
    ],
)
def test_only_invalid_spread_options_are_reported(
    name: str, options: JsonObject | None, legacy: int | None, field: str | None
) -> None:
    causes = list_preference_causes(
        cpu={"preferredCPUTopology": name, "spreadOptions": options}, preferSpreadSocketToCoreRatio=legacy
    )
    assert causes == ([] if field is None else [("FieldValueInvalid", f"spec.cpu.spreadOptions.{field}")])


@pytest.mark.parametrize("across", [*ACROSS, "Nodes"])
def test_spread_options_are_ignored_without_spread(across: str) -> None:
    assert (
        list_preference_causes(cpu={"preferredCPUTopology": "cores", "spreadOptions": {"across": across, "ratio": 0}})
        == []
    )


def test_empty_preference_is_accepted() -> None:
    assert check_preference(build_preference_spec()) == ([], [])

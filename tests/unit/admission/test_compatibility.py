from virtshape.admission.compatibility import NamedInstancetype, NamedPreference, check_pairs
from virtshape.api.codec import from_tree
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.model import JsonObject
from virtshape.engine.lifecycle import Lifecycle


def build_instancetype(name: str, vcpus: int, namespace: str = "") -> NamedInstancetype:
    spec: JsonObject = {"cpu": {"guest": vcpus}, "memory": {"guest": "1Gi"}}
    kind = "VirtualMachineInstancetype" if namespace else "VirtualMachineClusterInstancetype"
    return NamedInstancetype(kind, name, namespace, from_tree(spec, VirtualMachineInstancetypeSpec))


def build_preference(name: str, spec: JsonObject, namespace: str = "") -> NamedPreference:
    kind = "VirtualMachinePreference" if namespace else "VirtualMachineClusterPreference"
    return NamedPreference(kind, name, namespace, from_tree(spec, VirtualMachinePreferenceSpec))


def list_results(
    instancetypes: list[NamedInstancetype], preferences: list[NamedPreference]
) -> list[tuple[str, str, list[str]]]:
    return [
        (pair.instancetype.name, pair.preference.name, [problem.message for problem in pair.problems])
        for pair in check_pairs(instancetypes, preferences, "amd64")
    ]


def test_each_instancetype_is_checked_with_each_preference() -> None:
    sizes = [build_instancetype("small", 1), build_instancetype("large", 4)]
    preferences = [build_preference("any", {}), build_preference("demanding", {"requirements": {"cpu": {"guest": 2}}})]
    too_small = "insufficient CPU resources of 1 vCPU provided by instance type, preference requires 2 vCPU"
    assert list_results(sizes, preferences) == [
        ("small", "any", []),
        ("small", "demanding", [too_small]),
        ("large", "any", []),
        ("large", "demanding", []),
    ]


def test_every_reason_why_a_pair_is_incompatible_is_reported() -> None:
    spec = {
        "requirements": {"cpu": {"guest": 8}, "memory": {"guest": "2Gi"}, "architecture": "arm64"},
        "cpu": {"preferredCPUTopology": "spread"},
    }
    ((_, _, reasons),) = list_results([build_instancetype("odd", 3)], [build_preference("demanding", spec)])
    assert [reason.split()[0] for reason in reasons] == ["insufficient", "insufficient", "preference", "3"]


def test_pair_with_a_retired_object_is_incompatible() -> None:
    retired = build_instancetype("old", 1)._replace(lifecycle=Lifecycle("retired", "new"))
    deprecated = build_instancetype("older", 1)._replace(lifecycle=Lifecycle("deprecated"))
    preference = build_preference("gone", {})._replace(lifecycle=Lifecycle("retired"))
    old = 'VirtualMachineClusterInstancetype "old" is retired: new VMs cannot use it; use new instead'
    gone = 'VirtualMachineClusterPreference "gone" is retired: new VMs cannot use it'
    assert list_results([retired, deprecated], [build_preference("any", {}), preference]) == [
        ("old", "any", [old]),
        ("old", "gone", [old, gone]),
        ("older", "any", []),
        ("older", "gone", [gone]),
    ]


def test_objects_of_different_namespaces_cannot_be_used_together() -> None:
    sizes = [build_instancetype("own", 1, "dev"), build_instancetype("shared", 1)]
    preferences = [build_preference("own", {}, "dev"), build_preference("other", {}, "prod")]
    separate = "instance type is in namespace dev and preference in prod: a VM can only use those in its own namespace"
    assert list_results(sizes, preferences) == [
        ("own", "own", []),
        ("own", "other", [separate]),
        ("shared", "own", []),
        ("shared", "other", []),
    ]

import pytest
from tests.support.build import build_instancetype, build_preference

from virtshape.admission.compatibility import check_compatibility
from virtshape.api.codec import from_tree
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.model import JsonObject, Model
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.compatibility import MAX_PAIRS, CompatibilityRequest, search_compatibility
from virtshape.apiserver.subresources.named import Named
from virtshape.resolve.find import preference_spec
from virtshape.resolve.reference import Reference
from virtshape.resolve.search import run_search

REQUIREMENTS: JsonObject = {"cpu": {"guest": 4}, "memory": {"guest": "4Gi"}}


class ManyObjects:
    """A source of objects with a given number of instance types, and one preference."""

    def __init__(self, count: int) -> None:
        self._count = count

    def find(self, reference: Reference) -> Model | None:
        if reference.kind.endswith("Instancetype"):
            return build_instancetype(name=reference.name)
        return build_preference(name=reference.name) if reference.kind.endswith("Preference") else None

    def list_names(self, group: str, kind: str, namespace: str) -> list[str]:
        del group
        return [] if namespace or not kind.endswith("Instancetype") else [f"size{n}" for n in range(self._count)]


def test_number_of_pairs_in_a_compatibility_check_is_limited() -> None:
    wanted = CompatibilityRequest(preferences=[Named("linux")])
    most = ManyObjects(MAX_PAIRS)
    inputs = run_search(search_compatibility(wanted, "default", most), most.find)
    assert len(inputs.instancetypes) == MAX_PAIRS
    more = ManyObjects(MAX_PAIRS + 1)
    with pytest.raises(StatusError, match="more than 5000 pairs") as refused:
        run_search(search_compatibility(wanted, "default", more), more.find)
    assert refused.value.code == 400


@pytest.mark.parametrize(
    ("instancetype", "fields"),
    [
        ({"cpu": {"guest": 4}, "memory": {"guest": "4Gi"}}, []),
        ({"cpu": {"guest": 3}, "memory": {"guest": "3Gi"}}, ["spec.instancetype", "spec.instancetype"]),
        ({"cpu": {"topology": {"sockets": 2, "cores": 2}}, "memory": {"guest": "8Gi"}}, []),
        ({}, []),
        ({"cpu": {"guest": 8}}, []),
        ({"cpu": {"guest": 2}}, ["spec.instancetype"]),
        ({"memory": {"guest": "1Gi"}}, ["spec.instancetype"]),
        ({"cpu": {"limits": {"min": 8}}, "memory": {"limits": {"min": "16Gi"}}}, []),
        ({"memory": {"limits": {"perVCPU": {"max": "512Mi"}}}}, []),
        ({"cpu": {"limits": {"max": 2}}}, ["spec.template.spec.domain.cpu.guest"]),
        ({"memory": {"limits": {"max": "2Gi"}}}, ["spec.template.spec.domain.memory"]),
    ],
    ids=[
        "exact",
        "too small",
        "topology",
        "no size",
        "no memory size",
        "too few vCPUs",
        "no vCPUs, too little memory",
        "limits above the requirements",
        "more vCPUs for the memory",
        "limit of vCPUs too low",
        "limit of memory too low",
    ],
)
def test_fixed_size_or_limits_of_an_instancetype_must_meet_the_requirements(
    instancetype: JsonObject, fields: list[str]
) -> None:
    preference = preference_spec(build_preference(requirements=REQUIREMENTS))
    assert preference is not None
    spec = from_tree(instancetype, VirtualMachineInstancetypeSpec)
    assert [problem.field for problem in check_compatibility(spec, preference, "amd64")] == fields


def test_required_architecture_is_compared_with_the_default_architecture() -> None:
    preference = preference_spec(build_preference(requirements={"architecture": "arm64"}))
    assert preference is not None
    spec = from_tree({"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}, VirtualMachineInstancetypeSpec)
    assert check_compatibility(spec, preference, "arm64") == []
    (problem,) = check_compatibility(spec, preference, "amd64")
    assert problem.field == "spec.template.spec.architecture"

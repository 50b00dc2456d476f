from typing import Any

import pytest

from virtshape.api.codec import from_tree
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.engine.suggestions import Candidate, find_nearest
from virtshape.engine.topology import count_vcpus


def build_candidate(name: str, vcpus: int, memory: str = "1Gi", **traits: Any) -> Candidate:
    tree = {"cpu": {"guest": vcpus}, "memory": {"guest": memory}, **traits}
    return Candidate(name, from_tree(tree, VirtualMachineInstancetypeSpec))


CANDIDATES = [
    build_candidate("b.large", 4, "8Gi"),
    build_candidate("a.large", 4, "4Gi"),
    build_candidate("a.small", 1),
    build_candidate("a.pinned", 2, nodeSelector={"disk": "fast"}),
    build_candidate("a.medium", 2),
    build_candidate("c.medium", 2),
]


@pytest.mark.parametrize(
    ("near_to", "least", "names"),
    [
        pytest.param("", 2, ["a.medium", "c.medium", "a.large"], id="smallest first, then by name"),
        pytest.param("b.tiny", 2, ["b.large", "a.medium", "c.medium"], id="same series first"),
        pytest.param("a.small", 3, ["a.large", "b.large"], id="fewer than three"),
        pytest.param("a.small", 8, [], id="none"),
    ],
)
def test_up_to_three_acceptable_instance_types_are_suggested(near_to: str, least: int, names: list[str]) -> None:
    assert find_nearest(CANDIDATES, lambda spec: count_vcpus(spec.cpu) >= least, near_to) == names


def test_instance_type_without_a_size_can_be_suggested() -> None:
    open_size = Candidate("a.custom", VirtualMachineInstancetypeSpec())
    assert find_nearest([open_size], lambda spec: spec.cpu is None) == ["a.custom"]

"""VMs of every instance type and preference of the catalog are admitted."""

import pytest
from tests.support.build import build_vm
from tests.unit.admission.fakes import FakeCluster

from virtshape.admission.admit import admit
from virtshape.admission.submission import Submission
from virtshape.api.codec import to_tree
from virtshape.api.kinds import Kind, find_kind
from virtshape.api.model import JsonObject
from virtshape.catalog.loader import load, names
from virtshape.resolve.search import run_search

CLUSTER = FakeCluster(load())
VOLUMES: JsonObject = {"volumes": [{"name": "root", "containerDisk": {"image": "i"}}]}
INSTANCETYPES = [name for name in names("VirtualMachineClusterInstancetype") if not name.endswith(".custom")]
LARGE = "u1.8xlarge"


def find_vm() -> Kind:
    kind = find_kind("kubevirt.io/v1", "VirtualMachine")
    assert kind is not None
    return kind


def warned(tree: JsonObject) -> list[str]:
    return run_search(admit(Submission(find_vm(), tree, None), CLUSTER), CLUSTER.answer).warnings


@pytest.mark.parametrize("name", INSTANCETYPES)
def test_vm_of_each_fixed_size_instancetype_is_admitted_without_warnings(name: str) -> None:
    assert warned(to_tree(build_vm(instancetype=name, template=VOLUMES))) == []


@pytest.mark.parametrize("name", names("VirtualMachineClusterPreference"))
def test_vm_of_each_preference_is_admitted_without_warnings(name: str) -> None:
    tree = to_tree(build_vm(instancetype=LARGE, preference=name, template=VOLUMES))
    assert warned(tree) == []

"""Counting the VMs that refer to an instance type, flavor or preference."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.build import build_vm

from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject
from virtshape.apiserver.admission.instancetypeusage import VIRTUAL_MACHINES, UsageIndex
from virtshape.apiserver.objectmetadata import make_write
from virtshape.resolve.reference import Reference
from virtshape.store.record import Key
from virtshape.store.store import Store

INSTANCETYPES, FLAVORS = "instancetype.kubevirt.io", "flavor.kubevirt.io"
SMALL = Reference(INSTANCETYPES, "VirtualMachineClusterInstancetype", "", "small")
OWN = Reference(INSTANCETYPES, "VirtualMachineInstancetype", "default", "small")
LINUX = Reference(INSTANCETYPES, "VirtualMachineClusterPreference", "", "linux")
TINY = Reference(FLAVORS, "VirtualMachineClusterFlavor", "", "tiny")
FLAVORED = Reference(FLAVORS, "VirtualMachineClusterPreference", "", "linux")

NAMED: dict[str, tuple[JsonObject, set[Reference]]] = {
    "nothing": ({}, set()),
    "instance type": ({"instancetype": "small"}, {SMALL}),
    "namespaced instance type": ({"instancetype": "virtualmachineinstancetypes/small"}, {OWN}),
    "preference": ({"preference": "linux"}, {LINUX}),
    "both": ({"instancetype": "small", "preference": "linux"}, {SMALL, LINUX}),
    "flavor": ({"flavor": "tiny", "preference": "linux"}, {TINY, FLAVORED}),
    "unknown kind": ({"instancetype": "Typo/small"}, set()),
}


class VmStore:
    """A store to which tests write VMs."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revisions: dict[str, int] = {}

    async def write(self, name: str = "vm1", *, removes: bool = False, **spec: Any) -> None:
        tree = {"apiVersion": "kubevirt.io/v1", **to_tree(build_vm(name=name, namespace="default", **spec))}
        tree["metadata"]["resourceVersion"] = ""
        write = make_write(Key(VIRTUAL_MACHINES, "default", name), self._revisions.get(name, 0), tree, removes=removes)
        self._revisions[name] = (await self._store.write(write)).revision


@asynccontextmanager
async def open_index(directory: Path) -> AsyncIterator[tuple[VmStore, UsageIndex]]:
    store = Store(directory)
    usage = UsageIndex(store)
    store.observe(usage.observe)
    yield VmStore(store), usage
    await store.close()


def count(usage: UsageIndex) -> set[Reference]:
    return {each for each in (SMALL, OWN, LINUX, TINY, FLAVORED) if usage.count(each)}


@pytest.mark.parametrize(("spec", "named"), NAMED.values(), ids=NAMED)
@pytest.mark.parametrize(
    "asked_before", [False, True], ids=["index built after the write", "index built before the write"]
)
async def test_vms_that_refer_to_an_object_are_counted(
    tmp_path: Path, spec: JsonObject, named: set[Reference], asked_before: bool
) -> None:
    async with open_index(tmp_path) as (machines, usage):
        if asked_before:
            assert count(usage) == set()
        await machines.write(**spec)
        assert count(usage) == named


async def test_updated_vm_is_counted_for_the_objects_it_now_refers_to(tmp_path: Path) -> None:
    async with open_index(tmp_path) as (machines, usage):
        await machines.write("vm1", instancetype="small", preference="linux")
        await machines.write("vm2", instancetype="small")
        assert (usage.count(SMALL), usage.count(LINUX)) == (2, 1)
        await machines.write("vm1", instancetype="VirtualMachineInstancetype/small", preference="linux")
        assert (usage.count(SMALL), usage.count(OWN), usage.count(LINUX)) == (1, 1, 1)
        await machines.write("vm1")
        assert count(usage) == {SMALL}


async def test_deleted_vm_is_not_counted_as_a_user_of_its_instancetype(tmp_path: Path) -> None:
    async with open_index(tmp_path) as (machines, usage):
        await machines.write("vm1", instancetype="small")
        assert usage.count(SMALL) == 1
        await machines.write("vm1", removes=True, instancetype="small")
        assert usage.count(SMALL) == 0

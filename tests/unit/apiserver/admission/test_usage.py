"""Count of VMs that refer to an instance type, flavor or preference."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.build import build_vm

from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject
from virtshape.apiserver.admission.usage import MACHINES, UsageIndex
from virtshape.apiserver.objects import make_write
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
    "an instance type": ({"instancetype": "small"}, {SMALL}),
    "one of its namespace": ({"instancetype": "virtualmachineinstancetypes/small"}, {OWN}),
    "a preference": ({"preference": "linux"}, {LINUX}),
    "both": ({"instancetype": "small", "preference": "linux"}, {SMALL, LINUX}),
    "a flavor": ({"flavor": "tiny", "preference": "linux"}, {TINY, FLAVORED}),
    "a kind that is none": ({"instancetype": "Typo/small"}, set()),
}


class Machines:
    """A store with VMs in it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revisions: dict[str, int] = {}

    async def write(self, name: str = "vm1", *, removes: bool = False, **spec: Any) -> None:
        tree = {"apiVersion": "kubevirt.io/v1", **to_tree(build_vm(name=name, namespace="default", **spec))}
        tree["metadata"]["resourceVersion"] = ""
        write = make_write(Key(MACHINES, "default", name), self._revisions.get(name, 0), tree, removes=removes)
        self._revisions[name] = (await self._store.write(write)).revision


@asynccontextmanager
async def open_index(directory: Path) -> AsyncIterator[tuple[Machines, UsageIndex]]:
    store = Store(directory)
    mentions = UsageIndex(store)
    store.observe(mentions.observe)
    yield Machines(store), mentions
    await store.close()


def count(mentions: UsageIndex) -> set[Reference]:
    return {each for each in (SMALL, OWN, LINUX, TINY, FLAVORED) if mentions.count(each)}


@pytest.mark.parametrize(("spec", "named"), NAMED.values(), ids=NAMED)
@pytest.mark.parametrize("asked_before", [False, True], ids=["written before", "written after"])
async def test_references_of_a_vm_are_counted(
    tmp_path: Path, spec: JsonObject, named: set[Reference], asked_before: bool
) -> None:
    async with open_index(tmp_path) as (machines, mentions):
        if asked_before:
            assert count(mentions) == set()
        await machines.write(**spec)
        assert count(mentions) == named


async def test_updated_vm_is_counted_by_its_new_references(tmp_path: Path) -> None:
    async with open_index(tmp_path) as (machines, mentions):
        await machines.write("vm1", instancetype="small", preference="linux")
        await machines.write("vm2", instancetype="small")
        assert (mentions.count(SMALL), mentions.count(LINUX)) == (2, 1)
        await machines.write("vm1", instancetype="VirtualMachineInstancetype/small", preference="linux")
        assert (mentions.count(SMALL), mentions.count(OWN), mentions.count(LINUX)) == (1, 1, 1)
        await machines.write("vm1")
        assert count(mentions) == {SMALL}


async def test_deleted_vm_is_not_counted(tmp_path: Path) -> None:
    async with open_index(tmp_path) as (machines, mentions):
        await machines.write("vm1", instancetype="small")
        assert mentions.count(SMALL) == 1
        await machines.write("vm1", removes=True, instancetype="small")
        assert mentions.count(SMALL) == 0

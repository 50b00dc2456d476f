"""The trimming client removes managed fields from listed and watched objects, and not from stored ones."""

from pathlib import Path

from tests.support.controllers import instancetype_tree, open_controlled_system

from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterInstancetype
from virtshape.client.resources import metadata_of
from virtshape.controllers.runtime.clients import TrimmingClient


async def test_update_of_a_trimmed_object_preserves_managed_fields(tmp_path: Path) -> None:
    async with open_controlled_system(tmp_path) as system:
        await system.create(instancetype_tree())
        client = TrimmingClient(system.client)
        (light,) = (await client.list(VirtualMachineClusterInstancetype)).items
        assert metadata_of(light).managed_fields is None
        async for event in client.watch(VirtualMachineClusterInstancetype, initial=True):
            assert event.item == light
            break
        metadata_of(light).labels = {"own": "1"}
        await client.update(light)
        complete = await client.get(VirtualMachineClusterInstancetype, "small")
        assert "spec" in str(metadata_of(complete).managed_fields)

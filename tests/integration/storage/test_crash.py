"""Storage controllers that are killed between any two writes reach the same result and leak no files."""

import asyncio
import contextlib
from pathlib import Path

import pytest
from tests.support.controllers import (
    ControlledSystem,
    CrashingClient,
    open_controlled_system,
    wait_until_idle,
)
from tests.support.storage import claim_tree, find_image, volume_tree, wait_for_claim, wait_for_volume
from tests.support.waiting import eventually

from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.client.errors import UnreachableError
from virtshape.client.protocol import Client
from virtshape.standalone.controllers import run_controllers
from virtshape.standalone.guestruntimes import NoRuntime
from virtshape.supervise.supervisor import Supervisor

CRASHES = [(writes, late) for writes in range(1, 25, 2) for late in (False, True)]
COPY = {"pvc": {"name": "dv1", "namespace": "default"}}
LIFETIME_SECONDS = 2.0


async def kill_after(system: ControlledSystem, writes: int, *, late: bool) -> None:
    """Run the controllers until they crash at a write, for at most LIFETIME_SECONDS."""
    mortals: list[CrashingClient] = []

    def wrap(client: Client) -> Client:
        mortals.append(CrashingClient(client, writes, late=late))
        return mortals[0]

    with contextlib.suppress(UnreachableError, TimeoutError):
        async with run_controllers(system.server, NoRuntime(), system.directory, supervisor=Supervisor(), wrap=wrap):
            await asyncio.wait_for(mortals[0].crashed.wait(), LIFETIME_SECONDS)


@pytest.mark.parametrize(("writes", "late"), CRASHES)
async def test_disk_creation_and_deletion_survive_a_controller_crash(tmp_path: Path, writes: int, late: bool) -> None:
    async with open_controlled_system(tmp_path) as system:
        origin = {"kind": "PersistentVolumeClaim", "name": "dv1"}
        await system.create(volume_tree("dv1"), volume_tree("dv2", size=None, source=COPY))
        await system.create(claim_tree("c1", dataSource=origin))
        await kill_after(system, writes, late=late)
        async with system.run_controllers("none") as controllers:
            for name in ("dv1", "dv2"):
                await wait_for_volume(system, name)
            await wait_for_claim(system)
            await wait_until_idle(controllers)
            images = {await find_image(system, name) for name in ("dv1", "dv2", "c1")}
            assert images == set((tmp_path / "volumes").glob("*/*"))
            await eventually(lambda: has_nothing_left(tmp_path / "scratch"), "temporary files were not removed")
        for name in ("dv1", "dv2"):
            await system.client.delete(DataVolume, name, "default")
        await system.client.delete(PersistentVolumeClaim, "c1", "default")
        await kill_after(system, writes, late=late)
        async with system.run_controllers("none"):
            for name in ("dv1", "dv2", "c1"):
                await system.wait_until_gone(PersistentVolumeClaim, name)
            await eventually(lambda: is_empty(system, tmp_path), "volumes or files were not removed")


async def has_nothing_left(directory: Path) -> bool | None:
    return None if list(directory.iterdir()) else True


async def is_empty(system: ControlledSystem, directory: Path) -> bool | None:
    volumes = (await system.client.list(PersistentVolume)).items
    return True if not volumes and not list((directory / "volumes").iterdir()) else None

"""The setting `commonInstancetypesDeployment` adds or removes the common instance types and preferences."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.support.systems import open_system
from tests.support.waiting import eventually

from virtshape import catalog
from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterInstancetype, VirtualMachineClusterPreference
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.client.rest import RestClient
from virtshape.cluster.bootstrap import install_defaults, list_defaults
from virtshape.standalone.controllers import run_controllers
from virtshape.standalone.guestruntimes import NoRuntime
from virtshape.standalone.inprocesstransport import connect
from virtshape.standalone.server import Settings, assemble
from virtshape.supervise.supervisor import Supervisor

ALL = {item.metadata.name for item in catalog.load()}


@asynccontextmanager
async def open_with_catalog(directory: Path) -> AsyncIterator[RestClient]:
    async with assemble(Settings(directory=directory, port=0, catalog=True)) as system:
        running = run_controllers(system.server, NoRuntime(), directory, supervisor=Supervisor(), with_catalog=True)
        async with running:
            yield connect(system.server)


async def enable(client: RestClient, value: bool | None) -> None:
    patch = {"spec": {"configuration": {"commonInstancetypesDeployment": {"enabled": value}}}}
    await client.patch(KubeVirt, "kubevirt", "kubevirt", patch=patch)


async def list_names(client: RestClient) -> set[str | None]:
    kinds = (VirtualMachineClusterInstancetype, VirtualMachineClusterPreference)
    return {item.metadata.name for kind in kinds for item in (await client.list(kind)).items}


async def wait_for_names(client: RestClient, names: set[str | None]) -> None:
    async def probe() -> bool | None:
        return await list_names(client) == names or None

    await eventually(probe, f"the catalog is not {len(names)} objects")


async def test_disabled_catalog_is_removed_except_changed_objects(tmp_path: Path) -> None:
    async with open_with_catalog(tmp_path) as client:
        assert await list_names(client) == ALL
        patch = {"spec": {"memory": {"guest": "5Gi"}}}
        await client.patch(VirtualMachineClusterInstancetype, "u1.medium", patch=patch)
        await enable(client, False)
        await wait_for_names(client, {"u1.medium"})
        await enable(client, True)
        await wait_for_names(client, ALL)
        changed = await client.get(VirtualMachineClusterInstancetype, "u1.medium")
        assert changed.spec.memory is not None
        assert changed.spec.memory.guest == "5Gi"


@pytest.mark.parametrize("value", [False, None], ids=["disabled", "default"])
async def test_common_instancetypes_setting_survives_a_server_restart(tmp_path: Path, value: bool | None) -> None:
    async with open_with_catalog(tmp_path) as client:
        await enable(client, False)
        await wait_for_names(client, set())
        await enable(client, value)
        await wait_for_names(client, set() if value is False else ALL)
    async with open_with_catalog(tmp_path) as client:
        assert await list_names(client) == (set() if value is False else ALL)


async def test_install_defaults_respects_the_common_instancetypes_setting(tmp_path: Path) -> None:
    async with open_system("in-process", tmp_path) as system:
        await enable(system.client, False)
        missing = list_defaults(with_catalog=True)
        await install_defaults(system.client, missing)
        assert (missing, await list_names(system.client)) == ([], set())
        await enable(system.client, True)
        missing = list_defaults(with_catalog=True)
        await install_defaults(system.client, missing)
        assert (missing, await list_names(system.client)) == ([], ALL)

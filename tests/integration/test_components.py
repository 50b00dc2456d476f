"""Readiness of the components' Deployments while background tasks run or fail."""

from pathlib import Path

import pytest
from tests.support.faults import FAULT, Fault
from tests.support.standaloneserver import RunningServer, eventually, serving

from virtshape.api.deployment import Deployment, DeploymentStatus
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
from virtshape.client.rest import RestClient
from virtshape.standalone.kubevirtdeployments import COMPONENTS
from virtshape.standalone.server import Settings, serve


async def read_statuses(client: RestClient) -> dict[str, DeploymentStatus]:
    found = [await client.get(Deployment, name, "kubevirt") for name in COMPONENTS]
    return {each.metadata.name or "": each.status or DeploymentStatus() for each in found}


async def list_ready(client: RestClient) -> set[str]:
    return {name for name, status in (await read_statuses(client)).items() if status.ready_replicas}


async def wait_until_ready(client: RestClient, names: set[str]) -> None:
    async def probe() -> bool:
        return await list_ready(client) == names

    await eventually(probe, f"the ready components are not {names}")


def read_condition(status: DeploymentStatus) -> tuple[str | None, str | None]:
    available = next(one for one in status.conditions or () if one.type == "Available")
    return available.status, available.message


async def test_components_are_ready_while_the_server_runs(tmp_path: Path) -> None:
    async with serving(tmp_path / "data") as served:
        await wait_until_ready(served.client, set(COMPONENTS))
        for status in (await read_statuses(served.client)).values():
            assert (status.replicas, status.updated_replicas, status.available_replicas) == (1, 1, 1)
            assert status.observed_generation == 1
            assert read_condition(status)[0] == "True"


async def test_failing_controllers_are_not_ready_until_they_recover(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault(monkeypatch, "controller-manager")
    async with serving(tmp_path / "data") as served:
        await eventually(lambda: _reports(served, FAULT), "the failure is not reported")
        await wait_until_ready(served.client, set())
        fault.repair()
        await wait_until_ready(served.client, set(COMPONENTS))


async def _reports(served: RunningServer, failure: str) -> bool:
    status = (await read_statuses(served.client))["virt-controller"]
    available, message = read_condition(status) if status.conditions else (None, None)
    return available == "False" and failure in (message or "")


async def test_server_without_controllers_has_only_the_api_ready(tmp_path: Path) -> None:
    async with serving(tmp_path / "data") as served:
        await wait_until_ready(served.client, set(COMPONENTS))
    settings = Settings(directory=tmp_path / "data", port=0, catalog=False)
    async with serve(settings) as ready:
        client = RestClient(HttpTransport(get_access(path=str(ready.kubeconfig))), manager="tester")
        await wait_until_ready(client, {"virt-api"})
        await client.close()

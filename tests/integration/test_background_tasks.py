"""
Every background task of every process fails once, and the failure is reported.

The failure is logged with one traceback and is visible in health checks, metrics and `virtshape status`; the task is
restarted, and the system works again. A process with a task that is not covered here fails a test.
"""

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.controllers import instancetype_tree, preference_tree, vm_tree
from tests.support.demo import find_free_port
from tests.support.faults import BACKOFF, FAULT, Fault
from tests.support.guests import require_qemu
from tests.support.objects import object_from_tree
from tests.support.standaloneserver import eventually, serving

from virtshape.api.cdi import DataVolume
from virtshape.api.core.config import ConfigMap
from virtshape.api.core.node import Node
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.client.access import Access
from virtshape.client.errors import UnreachableError
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
from virtshape.client.rest import RestClient
from virtshape.client.transport import Call
from virtshape.cluster import component, controller
from virtshape.cluster.aggregated import process as aggregated
from virtshape.cluster.component import Ports
from virtshape.cluster.console import process as console
from virtshape.cluster.tls.sources import CertificateOptions
from virtshape.cluster.webhook import process as webhook
from virtshape.standalone.guestruntimes import LauncherName
from virtshape.standalone.server import Settings, serve
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import TASKS

LAUNCHERS: dict[str, LauncherName] = {"guests": "qemu", "storage-jobs": "none"}
"""Tasks of the standalone server that need a launcher other than the simulated one."""
OF_COMPONENTS = {
    "webhook": ("informers", "certificates"),
    "aggregated": ("informers", "certificates"),
    "console": ("certificates",),
    "controller": ("informers", "controllers", "event-recorder", "leader-election", "install-defaults"),
}
"""The tasks of each process on a cluster."""
OF_CLUSTERS_ONLY = {"leader-election", "install-defaults"}
OTHER_CHECKS = {
    "ping",
    "store",
    "lease",
    "controllers-started",
    "informers-synced",
    "certificate",
    "shutdown",
    "defaults-created",
}
"""Checks that are not background tasks."""
DATA_VOLUME = {
    "apiVersion": "cdi.kubevirt.io/v1beta1",
    "kind": "DataVolume",
    "metadata": {"name": "disk", "namespace": "default"},
    "spec": {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Mi"}}}},
}


def count_tracebacks(caplog: pytest.LogCaptureFixture, name: str) -> int:
    starts = re.compile(rf"background task {re.escape(name)}(/[^:]+)? failed: RuntimeError: {FAULT}; restarting in")
    return sum(bool(record.exc_info) and bool(starts.match(record.message)) for record in caplog.records)


async def has_vm_status(client: RestClient) -> bool:
    vm = await client.get(VirtualMachine, "vm1", "default")
    return vm.status is not None and vm.status.printable_status in ("Running", "ErrorUnschedulable")


@pytest.mark.parametrize("name", [name for name in TASKS if name not in OF_CLUSTERS_ONLY])
async def test_standalone_server_reports_and_restarts_a_failing_task(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    launcher = LAUNCHERS.get(name, "simulate")
    if launcher == "qemu":
        require_qemu()
    fault = Fault(monkeypatch, name)
    required = TASKS[name].required
    caplog.set_level(logging.INFO)

    async with serving(tmp_path / "data", launcher) as served:
        for tree in (instancetype_tree(), preference_tree(), vm_tree(), DATA_VOLUME):
            await served.client.create(object_from_tree(tree))

        async def is_failing() -> str:
            _, text = await served.get("/readyz?verbose")
            return text if f"[-]{name} failed" in text else ""

        text = await eventually(is_failing, f"{name} never fails in /readyz", seconds=240.0)
        assert re.search(rf"^\[-\]{name} failed: .*RuntimeError: {FAULT}", text, re.MULTILINE)
        assert f"readyz check {'failed' if required else 'passed'}\n" in text
        assert (await served.get("/readyz"))[0] == (500 if required else 200)
        assert FAULT in (await served.get(f"/readyz/{name}"))[1]
        assert (await served.get(f"/readyz?exclude={name}"))[0] == 200
        assert await served.get("/livez") == (200, "ok")
        assert FAULT not in (await served.get_anonymously("/readyz?verbose"))[1]
        assert FAULT not in (await served.get_anonymously(f"/readyz/{name}"))[1]
        assert f'virtshape_task_up{{task="{name}"}} 0.0\n' in (await served.get("/metrics"))[1]
        assert (await served.get_anonymously("/metrics"))[0] == 401
        code, status = await served.get_status()
        (check,) = (one for one in status["checks"] if one["name"] == name)
        assert (code, status["healthy"], check["passed"]) == (1, False, False)
        assert FAULT in check["failure"]
        assert FAULT in status["problem"]

        fault.repair()

        async def is_well() -> bool:
            return await served.get("/readyz") == (200, "ok") and "[-]" not in (await served.get("/readyz?verbose"))[1]

        await eventually(is_well, f"{name} does not recover")
        metrics = (await served.get("/metrics"))[1]
        assert f'virtshape_task_up{{task="{name}"}} 1.0\n' in metrics
        assert re.search(rf'^virtshape_task_restarts_total{{task="{name}"}} [1-9]', metrics, re.MULTILINE)
        await eventually(lambda: has_vm_status(served.client), "the VM has no status", seconds=240.0)

        async def is_healthy() -> bool:
            code, status = await served.get_status()
            return (code, status["healthy"]) == (0, True)

        await eventually(is_healthy, "the server is not healthy again", seconds=240.0)
    assert fault.injected > 0
    assert count_tracebacks(caplog, name) == 1


async def test_kubevirt_object_reports_the_failing_background_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault(monkeypatch, "event-expiry")

    async with serving(tmp_path / "data") as served:

        async def find_degraded(status: str) -> Any:
            found = await served.client.get(KubeVirt, "kubevirt", "kubevirt")
            conditions = (found.status.conditions if found.status else None) or ()
            return next((one for one in conditions if one.type == "Degraded" and one.status == status), None)

        degraded = await eventually(lambda: find_degraded("True"), "the KubeVirt object does not become Degraded")
        fault.repair()
        assert (degraded.reason, degraded.message) == (
            "BackgroundTaskFailed",
            f"event-expiry failed: RuntimeError: {FAULT}",
        )
        await eventually(lambda: find_degraded("False"), "the KubeVirt object is still Degraded")


async def test_vm_reports_a_failing_launcher_and_starts_after_recovery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Fault(monkeypatch, "none of them")
    repaired = asyncio.Event()

    from virtshape.standalone.guestruntimes import SimulatedRuntime

    make_launcher = SimulatedRuntime.make_launcher

    async def make(self: SimulatedRuntime, *given: Any) -> Any:
        if not repaired.is_set():
            raise OSError(22, "mount over /: Invalid argument")
        return await make_launcher(self, *given)

    monkeypatch.setattr(SimulatedRuntime, "make_launcher", make)
    async with serving(tmp_path / "data") as served:
        client = served.client
        for tree in (instancetype_tree(), preference_tree(), vm_tree()):
            await client.create(object_from_tree(tree))

        async def find_vm(printed: str) -> VirtualMachine | None:
            vm = await client.get(VirtualMachine, "vm1", "default")
            return vm if vm.status is not None and vm.status.printable_status == printed else None

        async def find_node_condition() -> Any:
            try:
                node = await client.get(Node, "simulated")
            except StatusError:
                return None
            conditions = (node.status.conditions if node.status else None) or ()
            return next((one for one in conditions if one.type == "Ready"), None)

        vm = await eventually(lambda: find_vm("ErrorUnschedulable"), "the VM does not report that it cannot start")
        messages = [one.message or "" for one in (vm.status.conditions if vm.status else None) or ()]
        assert any("mount over /: Invalid argument" in message for message in messages), messages
        ready = await eventually(find_node_condition, "the node does not exist")
        assert (ready.status, ready.reason) == ("False", "LauncherFailed")
        assert "mount over /: Invalid argument" in ready.message

        async def has_events() -> bool:
            _, events = await served.get("/api/v1/events")
            reasons = {(one["involvedObject"]["kind"], one["reason"]) for one in json.loads(events)["items"]}
            return reasons >= {("VirtualMachineInstance", "FailedScheduling"), ("Node", "NodeNotReady")}

        await eventually(has_events, "events are missing")
        assert (await served.get("/readyz"))[0] == 200, "the API must work without a launcher"
        await client.create(object_from_tree({**DATA_VOLUME, "metadata": {"name": "other", "namespace": "default"}}))

        async def find_phase() -> Any:
            found = await client.get(DataVolume, "other", "default")
            return found.status and found.status.phase

        await eventually(find_phase, "the other controllers do not work")
        repaired.set()
        await eventually(lambda: find_vm("Running"), "the VM does not start after the launcher has recovered")
        assert (await find_node_condition()).status == "True"


def list_component_tasks() -> list[Any]:
    return [
        pytest.param(process, name, id=f"{process}-{name}")
        for process, names in OF_COMPONENTS.items()
        for name in names
    ]


async def test_tests_cover_every_task_of_the_standalone_server(tmp_path: Path) -> None:
    """Tasks that do not run with the simulated launcher are omitted; another test makes them fail."""
    expected = set(TASKS) - OF_CLUSTERS_ONLY - set(LAUNCHERS)
    async with serving(tmp_path / "data") as served:

        async def find_all() -> set[str]:
            found = list_task_checks((await served.get("/readyz?verbose"))[1])
            return found if found >= expected else set()

        found = await eventually(find_all, f"not all of these tasks are started: {expected}")
    assert found == expected


@pytest.mark.parametrize("process", OF_COMPONENTS)
async def test_tests_cover_every_task_of_a_cluster_process(process: str, tmp_path: Path) -> None:
    expected = set(OF_COMPONENTS[process])
    async with serve(Settings(directory=tmp_path, port=0, catalog=False)) as ready:
        access = get_access(path=str(ready.kubeconfig))
        await describe_front_proxy(access)
        async with running_component(process, access) as ports:

            async def find_all() -> set[str]:
                found = list_task_checks((await get_from_component(ports, "/readyz?verbose"))[1])
                return found if found >= expected else set()

            found = await eventually(find_all, f"{process} does not start all of these tasks: {expected}")
    assert found == expected


def list_task_checks(text: str) -> set[str]:
    """Return the names of background tasks in the response to /readyz?verbose."""
    return set(re.findall(r"^\[[+-]\](\S+) ", text, re.MULTILINE)) - OTHER_CHECKS


@pytest.mark.parametrize(("process", "name"), list_component_tasks())
async def test_cluster_process_reports_and_restarts_a_failing_task(
    process: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    settings = Settings(directory=tmp_path, port=0, catalog=False)
    async with serve(settings, Supervisor(BACKOFF)) as ready:  # this server acts as the cluster's API server
        access = get_access(path=str(ready.kubeconfig))
        await describe_front_proxy(access)
        fault = Fault(monkeypatch, name)
        async with running_component(process, access) as ports:
            await check_component(name, ports, fault)
    assert count_tracebacks(caplog, name) == 1


async def describe_front_proxy(access: Access) -> None:
    """Create the front proxy configuration that a cluster publishes for aggregated API servers."""
    client = RestClient(HttpTransport(access), manager="tester")
    metadata = ObjectMeta(name="extension-apiserver-authentication", namespace="kube-system")
    await client.create(ConfigMap(api_version="v1", kind="ConfigMap", metadata=metadata))
    await client.close()


@contextlib.asynccontextmanager
async def running_component(process: str, access: Access) -> AsyncIterator[Ports]:
    ports = Ports(host="127.0.0.1", health=find_free_port(), metrics=find_free_port())
    work = asyncio.create_task(run_component(process, access, ports))
    try:
        yield ports
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def get_from_component(ports: Ports, target: str) -> tuple[int, str]:
    port = ports.metrics if target == "/metrics" else ports.health
    transport = HttpTransport(Access(f"http://127.0.0.1:{port}"))
    try:
        reply = await transport.call(Call("GET", target))
        return reply.status, reply.body.decode()
    except UnreachableError:  # the process does not listen yet
        return 0, ""
    finally:
        await transport.close()


async def check_component(name: str, ports: Ports, fault: Fault) -> None:
    get = partial(get_from_component, ports)

    async def is_failing() -> bool:
        return f"[-]{name} failed" in (await get("/readyz?verbose"))[1]

    await eventually(is_failing, f"{name} never fails in /readyz")
    code, text = await get(f"/readyz/{name}")
    assert code == 500
    assert FAULT in text
    assert await get("/livez") == (200, "ok")
    assert f'virtshape_task_up{{task="{name}"}} 0.0\n' in (await get("/metrics"))[1]

    fault.repair()

    async def is_well() -> bool:
        code, text = await get("/readyz?verbose")
        return code == 200 and f"[+]{name} ok\n" in text

    await eventually(is_well, f"{name} does not recover")
    metrics = (await get("/metrics"))[1]
    assert f'virtshape_task_up{{task="{name}"}} 1.0\n' in metrics
    assert re.search(rf'^virtshape_task_restarts_total{{task="{name}"}} [1-9]', metrics, re.MULTILINE)


async def run_component(process: str, access: Access, ports: Ports) -> None:
    if process == "controller":
        settings = controller.Settings(namespace="default", runtime="none", ports=ports)
        await controller.run(settings, access, lambda _: None)
        return
    tls = CertificateOptions(namespace="default", hosts=("localhost",))
    of_component = component.Settings(tls=tls, port=0, ports=ports)
    runs = {"webhook": webhook.run, "aggregated": aggregated.run, "console": console.run}
    await runs[process](of_component, access, lambda _: None)

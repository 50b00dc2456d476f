"""Metrics of the standalone server, from a real scrape."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.support.controllers import instancetype_tree, preference_tree, vm_tree
from tests.support.objects import object_from_tree
from tests.support.standaloneserver import RunningServer, eventually, serving

from virtshape.api.status import StatusError
from virtshape.client.transport import Call

Labels = dict[str, str]


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[RunningServer]:
    async with serving(tmp_path / "data") as running:
        for tree in (instancetype_tree(), preference_tree(), vm_tree()):
            await running.client.create(object_from_tree(tree))
        yield running


async def find(served: RunningServer, metric: str, /, **labels: str) -> float | None:
    """Return the value of the sample with this name and these labels; None if there is none."""
    _, text = await served.get("/metrics")
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == metric and labels.items() <= sample.labels.items():
                return float(sample.value)
    return None


async def test_scrape_shows_the_size_and_state_of_a_running_vm(served: RunningServer) -> None:
    vm = {"namespace": "default", "name": "vm1"}
    await eventually(lambda: find(served, "kubevirt_vm_info", **vm, status="running"), "the VM does not run")
    info = {"instance_type": "small", "preference": "linux"}
    assert await find(served, "kubevirt_vm_info", **vm, **info) == 1
    effective = {**vm, "source": "guest_effective"}
    assert await find(served, "kubevirt_vm_resource_requests", **effective, resource="cpu", unit="cores") == 2
    assert await find(served, "kubevirt_vm_resource_requests", **effective, resource="memory") == 2 << 30
    assert await find(served, "kubevirt_vmi_phase_count", phase="running", **info) == 1
    assert await find(served, "virtshape_vms", status="running", **info) == 1
    assert await find(served, "controller_runtime_reconcile_total", controller="vm", result="success")


async def test_scrape_counts_requests_admission_verdicts_and_commits(served: RunningServer) -> None:
    broken = vm_tree()
    broken["metadata"]["name"] = "broken"
    broken["spec"]["template"]["spec"]["domain"]["cpu"] = {"cores": 3}
    with pytest.raises(StatusError):
        await served.client.create(object_from_tree(broken))
    vms = {"group": "kubevirt.io", "resource": "virtualmachines"}
    assert await find(served, "apiserver_request_total", verb="POST", code="201", **vms) == 1
    assert await find(served, "apiserver_request_total", verb="POST", code="422", **vms) == 1
    assert await find(served, "apiserver_request_duration_seconds_count", verb="POST", **vms) == 2
    denied = {"operation": "CREATE", "verdict": "denied", "reason": "Invalid"}
    assert await find(served, "virtshape_admission_verdicts_total", **denied, **vms) == 1
    assert await find(served, "virtshape_admission_causes_total", reason="FieldValueInvalid", **vms) == 1
    assert await find(served, "virtshape_store_commit_duration_seconds_count")
    assert await find(served, "virtshape_store_writes_total", outcome="stored")
    assert await find(served, "apiserver_storage_objects", resource="virtualmachines.kubevirt.io") == 1
    assert await find(served, "apiserver_storage_size_bytes")


async def test_metrics_require_credentials(served: RunningServer) -> None:
    assert (await served.get_anonymously("/metrics"))[0] == 401
    assert await find(served, "apiserver_request_total", code="401", verb="GET") == 1
    as_user = {"impersonate-user": "ann", "impersonate-group": "system:authenticated"}
    assert (await served.call(Call("GET", "/metrics", as_user))).status == 403
    as_monitor = {**as_user, "impersonate-group": "system:monitoring"}
    assert (await served.call(Call("GET", "/metrics", as_monitor))).status == 200

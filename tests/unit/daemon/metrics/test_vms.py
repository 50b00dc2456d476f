"""Metrics of VMs and instances."""

from collections.abc import Iterable, Sequence

import pytest
from msgspec.structs import replace
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from tests.support.build import build_vm
from tests.support.instances import build_vmi

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.client.cache import Cache
from virtshape.controllers import inventory
from virtshape.daemon.metrics import vms
from virtshape.daemon.metrics.exposition import encode_families
from virtshape.daemon.metrics.families import Family
from virtshape.daemon.metrics.vms import VmMetrics

Values = dict[tuple[str, ...], float]


class Scrapes:
    """Collects metrics of the given VMs and instances, as repeated scrapes do."""

    def __init__(self, items: Sequence[VirtualMachine] = (), instances: Sequence[VirtualMachineInstance] = ()) -> None:
        self.vms, self.vmis = Cache(VirtualMachine), Cache(VirtualMachineInstance)
        self.vms.replace(items)
        self.vmis.replace(instances)
        self.metrics = VmMetrics()

    def list_families(self) -> list[Family]:
        return self.metrics.list_snapshots(self.vms.take_snapshot(), self.vmis.take_snapshot())

    def collect(self) -> dict[str, list[Sample]]:
        families = self.list_families()
        body = encode_families(families, names=frozenset(family.name for family in families)).body
        parsed: Iterable[Metric] = text_string_to_metric_families(body.decode())
        return {metric.name: metric.samples for metric in parsed}


def collect(items: Sequence[VirtualMachine], instances: Sequence[VirtualMachineInstance]) -> dict[str, list[Sample]]:
    return Scrapes(items, instances).collect()


def pick(samples: Iterable[Sample], *labels: str) -> Values:
    return {tuple(sample.labels[label] for label in labels): sample.value for sample in samples}


def build_sized_vm(name: str = "web") -> VirtualMachine:
    effective = {"vcpus": 4, "memory": "8Gi", "topology": "4x1x1"}
    status = {"printableStatus": "Running", "effective": effective}
    vm = build_vm(name=name, namespace="prod", instancetype="u1.large", preference="fedora", status=status)
    return replace(vm, metadata=replace(vm.metadata, uid=name, resource_version="1"))


def test_size_metrics_of_a_vm_have_kubevirts_labels() -> None:
    found = collect([build_sized_vm()], [])
    assert pick(found["kubevirt_vm_info"], "namespace", "name", "instance_type", "preference", "status") == {
        ("prod", "web", "u1.large", "fedora", "running"): 1
    }
    assert pick(found["kubevirt_vm_resource_requests"], "resource", "unit", "source") == {
        ("cpu", "cores", "guest_effective"): 4,
        ("cpu", "sockets", "domain"): 4,
        ("cpu", "cores", "domain"): 1,
        ("cpu", "threads", "domain"): 1,
        ("memory", "bytes", "guest_effective"): 8 << 30,
        ("memory", "bytes", "guest"): 8 << 30,
    }
    assert found["kubevirt_vm_resource_limits"] == []


def test_requests_and_limits_of_a_vm_are_separate_metrics() -> None:
    resources = {"requests": {"cpu": "1500m", "memory": "1Gi"}, "limits": {"cpu": "2"}}
    found = collect([build_vm(domain={"resources": resources})], [])
    assert pick(found["kubevirt_vm_resource_requests"], "resource", "unit", "source") == {
        ("cpu", "cores", "requests"): 1.5,
        ("memory", "bytes", "domain"): 1 << 30,
    }
    assert pick(found["kubevirt_vm_resource_limits"], "resource", "unit") == {("cpu", "cores"): 2}


def test_vms_are_counted_by_namespace_status_and_instance_type() -> None:
    plain = build_vm(name="plain", namespace="test", status={"printableStatus": "Stopped"})
    found = collect([build_sized_vm("a"), build_sized_vm("b"), plain], [])
    assert pick(found["kubevirt_number_of_vms"], "namespace") == {("prod",): 2, ("test",): 1}
    assert pick(found["virtshape_vms"], "instance_type", "preference", "status") == {
        ("u1.large", "fedora", "running"): 2,
        ("<none>", "<none>", "stopped"): 1,
    }


def test_instances_are_counted_by_phase() -> None:
    named = {"kubevirt.io/cluster-instancetype-name": "u1.large"}
    found = collect([], [build_vmi("Running", name=name, annotations=named) for name in "ab"] + [build_vmi("Failed")])
    assert pick(found["kubevirt_vmi_phase_count"], "phase", "instance_type") == {
        ("running", "u1.large"): 2,
        ("failed", "<none>"): 1,
    }
    assert "name" not in found["kubevirt_vmi_phase_count"][0].labels
    assert pick(found["kubevirt_vmi_info"], "name", "phase") == {
        ("a", "running"): 1,
        ("b", "running"): 1,
        ("vm1", "failed"): 1,
    }


def test_vms_above_the_limit_are_counted_but_have_no_own_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vms, "MAX_LISTED", 2)
    found = collect([build_sized_vm(name) for name in "abc"], [])
    assert len(found["kubevirt_vm_info"]) == 2
    assert [sample.value for sample in found["virtshape_vm_metrics_omitted"]] == [1]
    assert pick(found["kubevirt_number_of_vms"], "namespace") == {("prod",): 3}


def test_scrape_summarizes_only_objects_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    summarized = []

    def summarize(vm: VirtualMachine) -> inventory.VmSummary:
        summarized.append(vm.metadata.name)
        return inventory.summarize_vm(vm)

    monkeypatch.setattr(vms, "summarize_vm", summarize)
    scrapes = Scrapes([build_sized_vm("a"), build_sized_vm("b"), build_sized_vm("c")])
    first = scrapes.collect()
    assert scrapes.collect() == first
    assert summarized == ["a", "b", "c"]
    scrapes.vms.put(change_vm(build_sized_vm("b"), "Stopped"))
    scrapes.vms.drop(build_sized_vm("c"))
    assert pick(scrapes.collect()["kubevirt_vm_info"], "name", "status") == {("a", "running"): 1, ("b", "stopped"): 1}
    assert summarized == ["a", "b", "c", "b"]


def test_recreated_vm_is_summarized_again() -> None:
    scrapes = Scrapes([build_sized_vm("a")])
    scrapes.collect()
    scrapes.vms.put(change_vm(build_sized_vm("a"), "Stopped", uid="another"))
    assert pick(scrapes.collect()["kubevirt_vm_info"], "status") == {("stopped",): 1}


def change_vm(vm: VirtualMachine, status: str, uid: str | None = None) -> VirtualMachine:
    assert vm.status is not None
    metadata = replace(vm.metadata, resource_version="2", uid=uid or vm.metadata.uid)
    return replace(vm, metadata=metadata, status=replace(vm.status, printable_status=status))


def test_vm_above_the_limit_gets_metrics_when_another_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vms, "MAX_LISTED", 1)
    scrapes = Scrapes([build_sized_vm("a"), build_sized_vm("b")])
    assert pick(scrapes.collect()["kubevirt_vm_info"], "name") == {("a",): 1}
    scrapes.vms.drop(build_sized_vm("a"))
    assert pick(scrapes.collect()["kubevirt_vm_info"], "name") == {("b",): 1}

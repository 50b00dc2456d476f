"""
Metrics of VMs and instances, with KubeVirt's names and labels.

The objects come from the caches of the controllers. The objects are decoded, summarized and encoded in the thread that
answers a scrape; the next scrape does this again only for objects that have changed. At most MAX_LISTED VMs, and as
many instances, have their own series; all are counted.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar

from msgspec import Struct

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import Model
from virtshape.client.cache import Derived, ObjectKey, Snapshot
from virtshape.client.informer import Informers
from virtshape.controllers.inventory import VmiSummary, VmSummary, summarize_vm, summarize_vmi
from virtshape.daemon.metrics.families import PREFIX, Family, Sample

MAX_LISTED: Final = 10_000
YIELD_OBJECTS: Final = 8
"""Number of encoded objects after which the thread lets the event loop run."""
_UNITS: Final = {"cpu": "cores", "memory": "bytes"}
_TOPOLOGY: Final = ("sockets", "cores", "threads")

T = TypeVar("T", bound=Model)
S = TypeVar("S")


class Series(NamedTuple, Generic[S]):
    """A metric that has its own series for each object, and a function that returns the samples of one object."""

    name: str
    help: str
    list_samples: Callable[[S], Iterable[Sample]]


class _Row(Struct, Generic[S]):
    """The summary of an object, and its encoded lines in each metric, which are empty until they are needed."""

    summary: S
    lines: Sequence[bytes] = ()


class _Rows(Generic[T, S]):
    """Rows of all objects of one kind, which are cached between scrapes."""

    def __init__(self, summarize: Callable[[T], S], series: Sequence[Series[S]]) -> None:
        self._summarize = summarize
        self._series = series
        self._rows: Mapping[ObjectKey, Derived[_Row[S]]] = {}

    def update(self, snapshot: Snapshot[T]) -> Sequence[_Row[S]]:
        """Return a row for each object; only the first MAX_LISTED rows contain encoded lines."""
        self._rows = snapshot.derive(lambda item: _Row(self._summarize(item)), self._rows)
        rows = [derived.value for derived in self._rows.values()]
        new = [row for row in islice(rows, MAX_LISTED) if not row.lines]
        for number, row in enumerate(new, 1):
            row.lines = self._render(row.summary)
            if number % YIELD_OBJECTS == 0:
                time.sleep(0)  # otherwise the event loop waits 5 ms for the global interpreter lock
        return rows

    def _render(self, summary: S) -> Sequence[bytes]:
        from virtshape.daemon.metrics.exposition import render_samples  # the import takes 20 ms

        return [render_samples(series.name, series.list_samples(summary)) for series in self._series]


class VmMetrics:
    """Lists the metrics of VMs and instances for the scrapes of one process, one scrape at a time."""

    def __init__(self) -> None:
        self._vms = _Rows(summarize_vm, VM_SERIES)
        self._vmis = _Rows(summarize_vmi, VMI_SERIES)

    def list_families(self, informers: Informers) -> list[Family]:
        """Return the metrics of all VMs and instances in the caches; none until the caches are complete."""
        if not informers.are_synced:
            return []
        return self.list_snapshots(
            informers.take_snapshot(VirtualMachine), informers.take_snapshot(VirtualMachineInstance)
        )

    def list_snapshots(self, vms: Snapshot[VirtualMachine], vmis: Snapshot[VirtualMachineInstance]) -> list[Family]:
        """Return the metrics of these VMs and instances, which are encoded when the families are iterated."""
        inventory = _Inventory(lambda: self._vms.update(vms), lambda: self._vmis.update(vmis))
        return [
            *_list_series(VM_SERIES, lambda: inventory.vms),
            *_list_series(VMI_SERIES, lambda: inventory.vmis),
            *_list_counts(inventory),
        ]


class _Inventory:
    """The rows of VMs and instances at the time of a scrape, which are updated on first access."""

    def __init__(
        self,
        update_vms: Callable[[], Sequence[_Row[VmSummary]]],
        update_vmis: Callable[[], Sequence[_Row[VmiSummary]]],
    ) -> None:
        self._update_vms = update_vms
        self._update_vmis = update_vmis

    @cached_property
    def vms(self) -> Sequence[_Row[VmSummary]]:
        return self._update_vms()

    @cached_property
    def vmis(self) -> Sequence[_Row[VmiSummary]]:
        return self._update_vmis()


def _list_series(series: Sequence[Series[S]], get_rows: Callable[[], Sequence[_Row[S]]]) -> Iterator[Family]:
    for number, each in enumerate(series):
        yield Family(each.name, "gauge", each.help, lines=_list_lines(number, get_rows))


def _list_lines(number: int, get_rows: Callable[[], Sequence[_Row[S]]]) -> Iterator[bytes]:
    yield from (row.lines[number] for row in islice(get_rows(), MAX_LISTED))


def _list_counts(inventory: _Inventory) -> list[Family]:
    return [
        Family(
            "kubevirt_vmi_phase_count",
            "gauge",
            "Number of instances by node, phase, instance type, preference and guest system.",
            _count_vmis(inventory),
        ),
        Family("kubevirt_number_of_vms", "gauge", "Number of VMs by namespace.", _count_by_namespace(inventory)),
        Family(
            f"{PREFIX}vms",
            "gauge",
            "Number of VMs by status, instance type and preference.",
            _count_by_source(inventory),
        ),
        Family(
            f"{PREFIX}vm_metrics_omitted",
            "gauge",
            f"Number of VMs without their own series, because there are more than {MAX_LISTED}.",
            (Sample(max(0, len(each.vms) - MAX_LISTED)) for each in (inventory,)),
        ),
    ]


def _identify(vm: VmSummary) -> dict[str, str]:
    return {"namespace": vm.namespace, "name": vm.name}


def _describe_vm(vm: VmSummary) -> Iterator[Sample]:
    yield Sample(
        1,
        {
            **_identify(vm),
            **vm.system._asdict(),
            "machine_type": vm.machine_type,
            **vm.source._asdict(),
            "status": vm.status,
            "status_group": vm.status_group,
        },
    )


def _describe_vmi(vmi: VmiSummary) -> dict[str, str]:
    own = {"node": vmi.node, "phase": vmi.phase, **vmi.system._asdict(), **vmi.source._asdict()}
    return {**own, **vmi.guest._asdict()}


def _list_vmi_info(vmi: VmiSummary) -> Iterator[Sample]:
    yield Sample(1, {"namespace": vmi.namespace, "name": vmi.name, **_describe_vmi(vmi)})


def _list_requests(vm: VmSummary) -> Iterator[Sample]:
    own = _identify(vm)
    if vm.vcpus is not None:
        yield Sample(vm.vcpus, {**own, "resource": "cpu", "unit": "cores", "source": "guest_effective"})
    if vm.topology is not None:
        source = "default" if vm.is_default_topology else "domain"
        for unit, count in zip(_TOPOLOGY, vm.topology, strict=True):
            yield Sample(count, {**own, "resource": "cpu", "unit": unit, "source": source})
    if vm.memory is not None:
        for source in ("guest_effective", "guest"):
            yield Sample(vm.memory, {**own, "resource": "memory", "unit": "bytes", "source": source})
    for resource, source in (("cpu", "requests"), ("memory", "domain")):
        if resource in vm.requests:
            labels = {**own, "resource": resource, "unit": _UNITS[resource], "source": source}
            yield Sample(vm.requests[resource], labels)


def _list_limits(vm: VmSummary) -> Iterator[Sample]:
    for resource, amount in vm.limits.items():
        yield Sample(amount, {**_identify(vm), "resource": resource, "unit": _UNITS[resource]})


def _count_vmis(inventory: _Inventory) -> Iterator[Sample]:
    counts = Counter(row.summary._replace(namespace="", name="") for row in inventory.vmis)
    for vmi, count in counts.items():
        yield Sample(count, _describe_vmi(vmi))


def _count_by_namespace(inventory: _Inventory) -> Iterator[Sample]:
    for namespace, count in Counter(row.summary.namespace for row in inventory.vms).items():
        yield Sample(count, {"namespace": namespace})


def _count_by_source(inventory: _Inventory) -> Iterator[Sample]:
    for (source, status), count in Counter((row.summary.source, row.summary.status) for row in inventory.vms).items():
        yield Sample(count, {**source._asdict(), "status": status})


VM_SERIES: Final = (
    Series(
        "kubevirt_vm_info",
        "A VM: its status, instance type, preference and machine type. The value is always 1.",
        _describe_vm,
    ),
    Series(
        "kubevirt_vm_resource_requests",
        "CPU and memory of a VM, by source. CPU: guest_effective (vCPUs with the instance type applied), domain or "
        "default (topology that is set, or used by default), requests (the VM's CPU request). Memory: guest_effective "
        "and guest (memory with the instance type applied), domain (the VM's memory request).",
        _list_requests,
    ),
    Series("kubevirt_vm_resource_limits", "CPU and memory limits that a VM sets itself.", _list_limits),
)
VMI_SERIES: Final = (
    Series(
        "kubevirt_vmi_info",
        "An instance: its node, phase, instance type, preference and guest system. The value is always 1.",
        _list_vmi_info,
    ),
)

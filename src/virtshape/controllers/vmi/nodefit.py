"""
Check whether an instance fits on a node: CPU, memory, huge pages, dedicated CPUs and devices.

The functions are pure. Amounts are integers: CPU in millicores, memory and huge pages in bytes, devices as counts.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from virtshape.api.core.node import Node
from virtshape.api.core.scheduling import Affinity, Toleration
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.quantity import Quantity
from virtshape.controllers.vm.status import measure
from virtshape.controllers.vmi.nodeaffinity import find_mismatches

CPU: Final = "cpu"
MEMORY: Final = "memory"
HUGEPAGES: Final = "hugepages-"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
CPU_MANAGER_LABEL: Final = "cpumanager"
"""Label of a node: "true" if it offers dedicated CPUs."""
NO_LAUNCHER: Final = "no launcher is running"
_DEFAULT_ALLOCATION_RATIO: Final = 10
_MIB: Final = 1 << 20
"""Messages show memory rounded down to multiples of this size."""


class Demand(Struct, frozen=True):
    """Resources and scheduling constraints of an instance."""

    amounts: Mapping[str, int]
    dedicated: bool = False
    node_selector: Mapping[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    because: Mapping[str, str] = {}
    """The field that requests each special resource, for messages."""


def measure_demand(spec: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None = None) -> Demand:
    """
    Return the resources and scheduling constraints of an instance.

    A dedicated vCPU counts as a whole CPU; otherwise, the CPU request or a share of the vCPUs counts. A guest with huge
    pages uses huge pages instead of memory.
    """
    domain = spec.domain
    dedicated = bool(domain.cpu and domain.cpu.dedicated_cpu_placement)
    amounts: Counter[str] = Counter({CPU: _cpu_demand(spec, configuration, dedicated=dedicated)})
    guest = domain.memory.guest if domain.memory else None
    requests = (domain.resources.requests if domain.resources else None) or {}
    if domain.memory is not None and domain.memory.hugepages is not None:
        amounts[f"{HUGEPAGES}{domain.memory.hugepages.page_size}"] = (
            guest or requests.get(MEMORY, Quantity("0"))
        ).value()
    else:
        amounts[MEMORY] = (requests.get(MEMORY) or guest or Quantity("0")).value()
    amounts.update(device.device_name for device in domain.devices.gpus or () if device.device_name)
    amounts.update(device.device_name for device in domain.devices.host_devices or () if device.device_name)
    return Demand(
        dict(amounts),
        dedicated,
        {**list_node_selectors(configuration), **(spec.node_selector or {})},
        spec.affinity,
        tuple(spec.tolerations or ()),
        _explain_demand(spec),
    )


def list_node_selectors(configuration: KubeVirtConfiguration | None) -> dict[str, str]:
    """Return the labels that nodes must have to run any instance."""
    developer = configuration.developer_configuration if configuration else None
    return (developer.node_selectors if developer else None) or {}


def _explain_demand(spec: VirtualMachineInstanceSpec) -> dict[str, str]:
    cpu, memory, devices = spec.domain.cpu, spec.domain.memory, spec.domain.devices
    because: dict[str, str] = {}
    if cpu is not None and cpu.dedicated_cpu_placement:
        more = " and isolateEmulatorThread" if cpu.isolate_emulator_thread else ""
        because[CPU] = f"spec.domain.cpu.dedicatedCpuPlacement{more}"
    if memory is not None and memory.hugepages is not None:
        because[f"{HUGEPAGES}{memory.hugepages.page_size}"] = "spec.domain.memory.hugepages"
    because.update({one.device_name: "spec.domain.devices.gpus" for one in devices.gpus or () if one.device_name})
    for device in devices.host_devices or ():
        if device.device_name:
            because[device.device_name] = "spec.domain.devices.hostDevices"
    return because


def _cpu_demand(
    spec: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None, *, dedicated: bool
) -> int:
    vcpus = measure(spec).vcpus or 1
    if dedicated:
        isolated = spec.domain.cpu is not None and spec.domain.cpu.isolate_emulator_thread
        return (vcpus + bool(isolated)) * 1000
    requests = (spec.domain.resources.requests if spec.domain.resources else None) or {}
    if CPU in requests:
        return requests[CPU].milli_value()
    developer = configuration.developer_configuration if configuration else None
    ratio = (developer.cpu_allocation_ratio if developer else None) or _DEFAULT_ALLOCATION_RATIO
    return -(-vcpus * 1000 // ratio)


def check_fit(demand: Demand, node: Node, used: Mapping[str, int]) -> list[str]:
    """Return the reasons why the instance does not fit on the node; empty if it fits."""
    return list(_find_misfits(demand, node, used))


def _find_misfits(demand: Demand, node: Node, used: Mapping[str, int]) -> Iterator[str]:
    labels, spec = node.metadata.labels or {}, node.spec
    if spec is not None and spec.unschedulable:
        yield "is unschedulable"
    for key, value in demand.node_selector.items():
        if labels.get(key) != value:
            yield f"does not have the label {key}={value} that the node selector requires"
    if demand.dedicated and labels.get(CPU_MANAGER_LABEL) != "true":
        yield f"does not offer dedicated CPUs (no label {CPU_MANAGER_LABEL}=true)"
    yield from find_mismatches(node, demand.affinity, demand.tolerations)
    for name, amount in demand.amounts.items():
        free = count_free(name, node, used)
        if amount > free:
            by = f" by {demand.because[name]}" if name in demand.because else ""
            yield f"has {_show(name, max(free, 0))} of {name} left, {_show(name, amount)} needed{by}"


def count_free(name: str, node: Node, used: Mapping[str, int]) -> int:
    """Return the amount of a resource that is free on the node; negative if more is used than the node offers."""
    offered = (node.status.allocatable if node.status else None) or {}
    return (read_amount(name, offered[name]) if name in offered else 0) - used.get(name, 0)


def read_amount(name: str, quantity: Quantity) -> int:
    """Return an amount of a resource as an integer; CPU is in millicores."""
    return quantity.milli_value() if name == CPU else quantity.value()


def _show(name: str, amount: int) -> str:
    if name == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if name in (MEMORY, EPHEMERAL_STORAGE) or name.startswith(HUGEPAGES):
        rounded = amount - amount % _MIB if amount > _MIB else amount
        return str(Quantity.of(rounded, "BinarySI"))
    return str(amount)


def explain_unschedulable(reasons: Mapping[str, list[str]], no_launcher_reason: str = "") -> str:
    """Return why no node can run the instance, node by node; `no_launcher_reason` explains why there is no node."""
    if not reasons:
        return f"no node runs instances: {no_launcher_reason or NO_LAUNCHER}"
    return f"0/{len(reasons)} nodes are available: " + "; ".join(
        f"{node} {', '.join(found)}" for node, found in reasons.items()
    )


class Allocations:
    """Resources that scheduled instances use on each node, updated one instance at a time."""

    def __init__(self) -> None:
        self._placed: dict[str, tuple[str, Demand]] = {}
        self._used: dict[str, Counter[str]] = {}

    def place(self, key: str, node: str, demand: Demand) -> None:
        """Count the instance's resources on this node, and no longer on another node."""
        if self._placed.get(key) == (node, demand):
            return
        self.release(key)
        self._placed[key] = (node, demand)
        self._used.setdefault(node, Counter()).update(demand.amounts)

    def release(self, key: str) -> None:
        """Stop counting the instance's resources."""
        node, demand = self._placed.pop(key, ("", None))
        if demand is not None:
            self._used[node].subtract(demand.amounts)

    def used(self, node: str) -> Mapping[str, int]:
        """Return the resources in use on the node."""
        return self._used.get(node, {})

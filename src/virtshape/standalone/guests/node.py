"""The Node object of this machine: capacity, labels and conditions; and the dedicated CPUs of its guests."""

from collections.abc import Iterable
from typing import Final

from virtshape.api.core.node import Node, NodeAddress, NodeCondition, NodeStatus
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.quantity import Quantity
from virtshape.api.wellknown import (
    ARCHITECTURE_LABEL,
    DESCRIPTION_ANNOTATION,
    HOSTNAME_LABEL,
    KVM_DEVICE,
    OS_LABEL,
    SCHEDULABLE_LABEL,
)
from virtshape.controllers.vm.status import measure
from virtshape.controllers.vmi.nodefit import CPU_MANAGER_LABEL
from virtshape.launcher.host import Host

_MODEL_LABEL: Final = "cpu-model.node.kubevirt.io/"
_MACHINE_LABEL: Final = "machine-type.node.kubevirt.io/"
_MAX_KVM_GUESTS: Final = Quantity("1k")


def describe_node(host: Host, name: str, now: str) -> Node:
    """Return the Node object of a machine."""
    offered = {"cpu": Quantity(str(len(host.cpus))), "memory": Quantity.of(host.memory, "BinarySI")}
    for size, count in host.hugepages.items():
        offered[f"hugepages-{size}"] = Quantity.of(Quantity(size).value() * count, "BinarySI")
    offered |= {resource: Quantity(str(len(found))) for resource, found in host.devices.items()}
    if host.kvm:
        offered[KVM_DEVICE] = _MAX_KVM_GUESTS
    description = "guests run with KVM" if host.kvm else "guests are emulated: KVM does not work on this machine"
    return Node(
        api_version="v1",
        kind="Node",
        metadata=ObjectMeta(name=name, labels=_label(host, name), annotations={DESCRIPTION_ANNOTATION: description}),
        status=NodeStatus(
            addresses=[NodeAddress("InternalIP", "127.0.0.1"), NodeAddress("Hostname", name)],
            allocatable=offered,
            capacity=dict(offered),
            conditions=[
                NodeCondition("Ready", "True", now, now, description, "LauncherReady"),
                *_describe_isolation(host, now),
                _describe_network(host, now),
            ],
        ),
    )


def describe_missing_isolation(host: Host) -> str:
    """Return a message about missing isolation from the machine's files, and its cause; empty if nothing is missing."""
    if not host.mount_obstacle:
        return ""
    return (
        f"guests run without a mount namespace ({host.mount_obstacle}): they do not run as root, but a guest that"
        " breaks out of QEMU can read every file that all users may read;"
        " to isolate guests, run virtshape with CAP_SYS_ADMIN"
    )


def _describe_isolation(host: Host, now: str) -> list[NodeCondition]:
    message = describe_missing_isolation(host)
    return [NodeCondition("GuestsIsolated", "False", now, now, message, "NoMountNamespace")] if message else []


def _describe_network(host: Host, now: str) -> NodeCondition:
    """Return the condition that says whether guests have network access, and how they are isolated."""
    kind = "GuestNetworkReady"
    if host.isolation == "restricted":
        text = f"guests have no network access except forwarded ports: {host.isolation_reason}; see docs/guests.md"
        return NodeCondition(kind, "False", now, now, text, "NoNetworkNamespaces")
    if host.isolation == "namespace":
        text = "each guest has its own network namespace with access to the internet"
        return NodeCondition(kind, "True", now, now, text, "NetworkNamespaces")
    return NodeCondition(kind, "True", now, now, "guests share the machine's network namespace", "NotIsolated")


def _label(host: Host, name: str) -> dict[str, str]:
    machines = host.machine_types | host.machine_aliases.keys()
    return {
        HOSTNAME_LABEL: name,
        ARCHITECTURE_LABEL: host.architecture,
        OS_LABEL: "linux",
        SCHEDULABLE_LABEL: "true",
        CPU_MANAGER_LABEL: "true",
        **{f"{_MODEL_LABEL}{model}": "true" for model in sorted(host.cpu_models)},
        **{f"{_MACHINE_LABEL}{machine}": "true" for machine in sorted(machines)},
    }


def count_cpus(spec: VirtualMachineInstanceSpec) -> int:
    """Return the number of dedicated CPUs that an instance requests; 0 if it requests none."""
    cpu = spec.domain.cpu
    if cpu is None or not cpu.dedicated_cpu_placement:
        return 0
    return (measure(spec).vcpus or 1) + bool(cpu.isolate_emulator_thread)


def choose_cpus(count: int, cpus: Iterable[int], taken: Iterable[int]) -> tuple[int, ...] | None:
    """Return this number of free CPUs; None if too few CPUs are free."""
    free = sorted(set(cpus) - set(taken))
    return tuple(free[:count]) if len(free) >= count else None

"""Columns of VMs, VMIs, instance types, flavors and preferences."""

from typing import Any

from virtshape.apiserver.encoding.columns.column import Cell, Column, column, computed
from virtshape.apiserver.encoding.columns.standard import CUSTOM_AGE, NAME


def _condition(name: str, type_: str, description: str) -> Column:
    return column(name, f".status.conditions[?(@.type=='{type_}')].status", description)


def _show_vcpus(guest: int | None, topology: dict[str, int] | None) -> Cell:
    if guest is not None or topology is None:
        return guest
    sockets, cores, threads = _read_topology(topology)
    return sockets * cores * threads


def _show_topology(topology: dict[str, int] | None) -> Cell:
    return None if topology is None else "x".join(map(str, _read_topology(topology)))


def _read_topology(topology: dict[str, Any]) -> tuple[int, int, int]:
    return topology.get("sockets") or 1, topology.get("cores") or 1, topology.get("threads") or 1


_MEMORY = column("Memory", ".spec.memory.guest", "Memory that the guest gets.")
_DEDICATED = column(
    "Dedicated", ".spec.cpu.dedicatedCPUPlacement", "Whether each vCPU gets a host CPU of its own.", "boolean"
)

VM = (
    NAME,
    CUSTOM_AGE,
    column("Status", ".status.printableStatus", "What the VM is doing."),
    _condition("Ready", "Ready", "Whether the VM runs and is ready."),
    column("vCPU", ".status.effective.vcpus", "vCPUs that the VM has or will start with.", "integer").wide,
    column("Memory", ".status.effective.memory", "Memory that the VM has or will start with.").wide,
    column("Instancetype", ".spec.instancetype.name", "The instance type that the VM names.").wide,
    column("Preference", ".spec.preference.name", "The preference that the VM names.").wide,
)
INSTANCE = (
    NAME,
    CUSTOM_AGE,
    column("Phase", ".status.phase", "How far the instance has come."),
    column("IP", ".status.interfaces[0].ipAddress", "Address of its first network interface."),
    column("NodeName", ".status.nodeName", "The node that it runs on."),
    _condition("Ready", "Ready", "Whether it is ready."),
    _condition("Live-Migratable", "LiveMigratable", "Whether it can move to another node while it runs.").wide,
    _condition("Paused", "Paused", "Whether it is paused.").wide,
)
KUBEVIRT = (NAME, CUSTOM_AGE, column("Phase", ".status.phase", "How far the installation has come."))
INSTANCETYPE = (
    NAME,
    computed("vCPU", "vCPUs that a VM gets.", _show_vcpus, ".spec.cpu.guest", ".spec.cpu.topology", type_="integer"),
    _MEMORY,
    computed("Topology", "Exact sockets, cores and threads.", _show_topology, ".spec.cpu.topology"),
    _DEDICATED,
    CUSTOM_AGE,
)
FLAVOR = (
    NAME,
    column("vCPU", ".spec.cpu.guest", "vCPUs that a VM gets.", "integer"),
    _MEMORY,
    _DEDICATED,
    CUSTOM_AGE,
)
PREFERENCE = (
    NAME,
    CUSTOM_AGE,
    column("Topology", ".spec.cpu.preferredCPUTopology", "How the guest likes its vCPUs laid out.").wide,
    column("Disk-Bus", ".spec.devices.preferredDiskBus", "The bus that the guest likes for its disks.").wide,
    column("Min-vCPU", ".spec.requirements.cpu.guest", "The least vCPUs that the guest needs.", "integer").wide,
    column("Min-Memory", ".spec.requirements.memory.guest", "The least memory that the guest needs.").wide,
)
FLAVOR_PREFERENCE = PREFERENCE[:4]

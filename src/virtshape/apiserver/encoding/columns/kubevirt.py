"""Columns of VMs, VMIs, instance types, flavors, preferences and KubeVirt installations."""

from virtshape.api.model import JsonObject
from virtshape.api.wellknown import LIFECYCLE_LABEL
from virtshape.apiserver.encoding.columns.column import CUSTOM_AGE, NAME, Cell, Column, column, computed
from virtshape.engine.lifecycle import read_state


def _condition(name: str, type_: str, description: str) -> Column:
    return column(name, f".status.conditions[?(@.type=='{type_}')].status", description)


def _show_vcpus(guest: int | None, topology: dict[str, int] | None) -> Cell:
    if guest or topology is None:
        return guest
    sockets, cores, threads = _read_topology(topology)
    return sockets * cores * threads


def _show_topology(topology: dict[str, int] | None) -> Cell:
    return None if topology is None else "x".join(map(str, _read_topology(topology)))


def _read_topology(topology: JsonObject) -> tuple[int, int, int]:
    return topology.get("sockets") or 1, topology.get("cores") or 1, topology.get("threads") or 1


_MEMORY = column("Memory", ".spec.memory.guest", "Guest memory.")
_DEDICATED = column(
    "Dedicated", ".spec.cpu.dedicatedCPUPlacement", "Whether each vCPU gets a dedicated host CPU.", "boolean"
)
_LIFECYCLE = computed(
    "Lifecycle", "Whether the object is active, deprecated or retired.", read_state, ".metadata.labels"
).wide._replace(json_path=".metadata.labels." + LIFECYCLE_LABEL.replace(".", r"\."))

VM = (
    NAME,
    CUSTOM_AGE,
    column("Status", ".status.printableStatus", "Status of the VM."),
    _condition("Ready", "Ready", "Whether the VM is running and ready."),
    column(
        "vCPU",
        ".status.effective.vcpus",
        "vCPUs of the running VM, or the vCPUs it will have at its next start.",
        "integer",
    ).wide,
    column(
        "Memory", ".status.effective.memory", "Memory of the running VM, or the memory it will have at its next start."
    ).wide,
    column("Instancetype", ".spec.instancetype.name", "Instance type of the VM.").wide,
    column("Preference", ".spec.preference.name", "Preference of the VM.").wide,
)
INSTANCE = (
    NAME,
    CUSTOM_AGE,
    column("Phase", ".status.phase", "Phase of the VMI."),
    column("IP", ".status.interfaces[0].ipAddress", "Address of the first network interface."),
    column("NodeName", ".status.nodeName", "Node that the VMI runs on."),
    _condition("Ready", "Ready", "Whether the VMI is ready."),
    _condition("Live-Migratable", "LiveMigratable", "Whether the VMI can be live-migrated.").wide,
    _condition("Paused", "Paused", "Whether the VMI is paused.").wide,
)
KUBEVIRT = (NAME, CUSTOM_AGE, column("Phase", ".status.phase", "Phase of the installation."))
INSTANCETYPE = (
    NAME,
    computed("vCPU", "Number of vCPUs.", _show_vcpus, ".spec.cpu.guest", ".spec.cpu.topology", type_="integer"),
    _MEMORY,
    computed("Topology", "Sockets, cores and threads.", _show_topology, ".spec.cpu.topology"),
    _DEDICATED,
    CUSTOM_AGE,
    _LIFECYCLE,
)
FLAVOR = (
    NAME,
    column("vCPU", ".spec.cpu.guest", "Number of vCPUs.", "integer"),
    _MEMORY,
    _DEDICATED,
    CUSTOM_AGE,
)
PREFERENCE = (
    NAME,
    CUSTOM_AGE,
    column("Topology", ".spec.cpu.preferredCPUTopology", "Preferred CPU topology.").wide,
    column("Disk-Bus", ".spec.devices.preferredDiskBus", "Preferred disk bus.").wide,
    column("Min-vCPU", ".spec.requirements.cpu.guest", "Minimum number of vCPUs.", "integer").wide,
    column("Min-Memory", ".spec.requirements.memory.guest", "Minimum memory.").wide,
    _LIFECYCLE,
)
FLAVOR_PREFERENCE = PREFERENCE[:4]

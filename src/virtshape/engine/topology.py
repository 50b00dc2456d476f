"""Guest CPU topology: distribute vCPUs over sockets, cores and threads."""

from typing import Final, Literal

from msgspec import Struct

from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import CPUInstancetype
from virtshape.api.kubevirt.domain import CPUTopology

Layout = Literal["sockets", "cores"]

DEPRECATED_TOPOLOGIES: Final = {
    "preferSockets": "sockets",
    "preferCores": "cores",
    "preferThreads": "threads",
    "preferSpread": "spread",
    "preferAny": "any",
}
TOPOLOGIES: Final = ("sockets", "cores", "threads", "spread", "any")
ACROSS: Final = ("SocketsCoresThreads", "SocketsCores", "CoresThreads")
DEFAULT_RATIO: Final = 2
DEFAULT_VCPUS: Final = 1
THREADS_PER_CORE: Final = 2


class Topology(Struct, frozen=True, gc=False):
    """Sockets, cores per socket and threads per core."""

    sockets: int = 1
    cores: int = 1
    threads: int = 1

    @property
    def vcpus(self) -> int:
        """The product of sockets, cores and threads."""
        return self.sockets * self.cores * self.threads

    def __str__(self) -> str:
        return f"{self.sockets}x{self.cores}x{self.threads}"


def read_topology(topology: CPUTopology) -> Topology:
    """Return the exact topology of an instance type, with 1 for each unset member."""
    return Topology(topology.sockets or 1, topology.cores or 1, topology.threads or 1)


def count_vcpus(cpu: CPUInstancetype | None) -> int:
    """Return the vCPUs of an instance type, or 0 if it leaves them to the VM."""
    if cpu is None:
        return 0
    return read_topology(cpu.topology).vcpus if cpu.topology else cpu.guest or 0


def preferred_topology(preference: VirtualMachinePreferenceSpec | None, default: str = "sockets") -> str:
    """Return the preferred topology, or the default if there is none; deprecated names are replaced."""
    if preference is None or preference.cpu is None or not preference.cpu.preferred_cpu_topology:
        return default
    name = preference.cpu.preferred_cpu_topology
    return DEPRECATED_TOPOLOGIES.get(name, name)


def spread_options(preference: VirtualMachinePreferenceSpec) -> tuple[int, str]:
    """Return the spread ratio, and the topology levels that vCPUs are spread across."""
    ratio = preference.prefer_spread_socket_to_core_ratio or DEFAULT_RATIO
    across = "SocketsCores"
    options = preference.cpu.spread_options if preference.cpu else None
    if options is not None:
        if options.ratio is not None:
            ratio = options.ratio
        if options.across is not None:
            across = options.across
    return ratio, across


def lay_out_vcpus(vcpus: int, preference: VirtualMachinePreferenceSpec | None, default: Layout = "sockets") -> Topology:
    """Distribute vCPUs as the preference asks, or else by the default layout."""
    match preferred_topology(preference, default):
        case "sockets" | "any":
            return Topology(sockets=vcpus)
        case "cores":
            return Topology(cores=vcpus)
        case "threads":
            return Topology(threads=vcpus)
        case "spread" if preference is not None and vcpus > 1:  # a single vCPU cannot be spread
            return _spread(vcpus, *spread_options(preference))
        case _:  # admission rejects unknown names; objects that were stored without this check get one vCPU
            return Topology()


def _spread(vcpus: int, ratio: int, across: str) -> Topology:
    ratio = ratio or 1  # avoid division by zero
    match across:
        case "SocketsCores":
            return Topology(sockets=vcpus // ratio, cores=ratio)
        case "CoresThreads":
            return Topology(cores=vcpus // ratio, threads=ratio)
        case "SocketsCoresThreads":
            return Topology(vcpus // THREADS_PER_CORE // ratio, ratio, THREADS_PER_CORE)
        case _:
            return Topology()


def check_spread(
    vcpus: int, field: str, source: str, preference: VirtualMachinePreferenceSpec | None
) -> FieldError | None:
    """Check that the vCPUs can be spread evenly; the error is for `field`, and its message mentions the `source`."""
    if preference is None or preferred_topology(preference) != "spread":
        return None
    ratio, across = spread_options(preference)
    over = "Spec.PreferSpreadSocketToCoreRatio or Spec.CPU.PreferSpreadOptions.Ratio of"
    match across:
        case "SocketsCores":
            divisor, divided_by = ratio, f"the {over} {ratio} provided by the preference"
        case "CoresThreads":
            divisor, divided_by = ratio, f"the number of threads per core {ratio}"
        case "SocketsCoresThreads":
            divisor = THREADS_PER_CORE * ratio
            divided_by = f"the number of threads per core {THREADS_PER_CORE} and {over} {ratio}"
        case _:
            return None
    if divisor and vcpus % divisor == 0:
        return None
    return FieldError(
        field, f"{vcpus} vCPUs provided by {source} are not divisible by {divided_by}", rule="indivisible-spread"
    )

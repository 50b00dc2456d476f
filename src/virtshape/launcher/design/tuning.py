"""Design dedicated CPUs, the CPU of the emulator thread, and realtime scheduling."""

import re
from typing import Final

from virtshape.api.kubevirt.domain import CPU
from virtshape.api.wellknown import EVEN_PARITY_ANNOTATION
from virtshape.launcher.design.context import DesignContext, find_annotation
from virtshape.launcher.design.pinning import Allotment, allot_cpus, design_cells, spread_iothreads
from virtshape.launcher.domain.cpu import Topology
from virtshape.launcher.domain.tuning import CpuTune, Pin, Schedule

_CPU: Final = "spec.domain.cpu"
_PLACEMENT: Final = f"{_CPU}.dedicatedCpuPlacement"
_POLICIES: Final = ("shared", "auto", "supplementalPool")
_PART: Final = re.compile(r"\s*(?P<without>\^?)(?P<first>[0-9]{1,5})(?:-(?P<last>[0-9]{1,5}))?\s*")


def design_cpu_tune(
    context: DesignContext, start: Topology, iothreads: int, assigned: tuple[int, ...]
) -> CpuTune | None:
    """Return the CPU pinning of a guest with dedicated CPUs; None for other guests, or if CPUs are missing."""
    _check_policy(context)
    cpu = context.spec.domain.cpu or CPU()
    if not cpu.dedicated_cpu_placement:
        _refuse_without_dedication(context, cpu)
        return None
    supplemental = iothreads if context.spec.domain.io_threads_policy == "supplementalPool" else 0
    emulator = _count_emulator_cpus(context, start.vcpus + supplemental) if cpu.isolate_emulator_thread else 0
    found = _find_cpus(context, start, supplemental + emulator, assigned)
    if found is None:
        return None
    for_iothreads, rest = found.spare[:supplemental], found.spare[supplemental:]
    return CpuTune(
        vcpu_pins=tuple(Pin(vcpu, (number,)) for vcpu, number in enumerate(found.vcpus)),
        emulator_pin=rest[:emulator],
        iothread_pins=_pin_iothreads(iothreads, for_iothreads, rest[:emulator], found.vcpus),
        realtime=_design_schedule(context, cpu, start),
    )


def _check_policy(context: DesignContext) -> None:
    domain = context.spec.domain
    policy, pool = domain.io_threads_policy, domain.io_threads
    size = pool.supplemental_pool_thread_count if pool is not None else None
    if policy is not None and policy not in _POLICIES:
        context.refuse("spec.domain.ioThreadsPolicy", f"unsupported value {policy}: use one of {', '.join(_POLICIES)}")
    elif (policy == "supplementalPool") != bool(size):
        field = "spec.domain.ioThreads.supplementalPoolThreadCount"
        context.refuse(field, "must be at least 1 with ioThreadsPolicy supplementalPool, and unset otherwise")


def _refuse_without_dedication(context: DesignContext, cpu: CPU) -> None:
    needing = {
        "isolateEmulatorThread": bool(cpu.isolate_emulator_thread),
        "realtime": cpu.realtime is not None,
        "numa.guestMappingPassthrough": cpu.numa is not None and cpu.numa.guest_mapping_passthrough is not None,
    }
    for name, asked in needing.items():
        if asked:
            context.refuse(f"{_CPU}.{name}", "needs dedicatedCpuPlacement")


def _count_emulator_cpus(context: DesignContext, others: int) -> int:
    """Return the number of emulator CPUs: 1, or 2 if an annotation asks for an even total and `others` is even."""
    even = find_annotation(context, EVEN_PARITY_ANNOTATION) is not None
    return 2 if even and others % 2 == 0 else 1


def _find_cpus(context: DesignContext, start: Topology, more: int, assigned: tuple[int, ...]) -> Allotment | None:
    cpus = assigned or context.host.cpus
    numa = context.spec.domain.cpu.numa if context.spec.domain.cpu else None
    strict = numa is not None and numa.guest_mapping_passthrough is not None
    cells = design_cells(context.host, cpus)
    count = sum(len(core) for cell in cells for core in cell.cores)
    found = allot_cpus(cells, start, across_cells=not strict)
    if count < start.vcpus + more:
        extra = f" and {more} more" if more else ""
        context.refuse(
            _PLACEMENT, f"needs a CPU for each of {start.vcpus} vCPUs{extra}; this host has {count} available"
        )
        return None
    if found is None:
        context.refuse(
            _PLACEMENT,
            "the threads of a core would be on different NUMA nodes, which guestMappingPassthrough does not allow",
        )
    return found


def _pin_iothreads(
    count: int, own: tuple[int, ...], emulator: tuple[int, ...], vcpus: tuple[int, ...]
) -> tuple[Pin, ...]:
    """Pin I/O threads to their own CPUs, else to the emulator's, else to those of the vCPUs."""
    if not count:
        return ()
    if own:
        return tuple(Pin(thread, (number,)) for thread, number in enumerate(own, start=1))
    if emulator:
        return tuple(Pin(thread, emulator) for thread in range(1, count + 1))
    return spread_iothreads(count, vcpus)


def _design_schedule(context: DesignContext, cpu: CPU, start: Topology) -> Schedule | None:
    if cpu.realtime is None:
        return None
    if not context.host.realtime:
        context.refuse(f"{_CPU}.realtime", "realtime scheduling is not permitted on this host")
    mask = cpu.realtime.mask or f"0-{start.vcpus - 1}"
    numbers = parse_numbers(mask)
    if not numbers or numbers[-1] >= start.vcpus:
        context.refuse(
            f"{_CPU}.realtime.mask", f"{mask} is not a list of vCPUs within 0-{start.vcpus - 1}, for example 0-3,^1"
        )
    return Schedule(mask)


def parse_numbers(text: str) -> tuple[int, ...] | None:
    """Return the numbers in a list such as `0-3,^1`, sorted; None if the text is not a valid list."""
    numbers: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            return None
        first = int(match["first"])
        run = range(first, int(match["last"] or first) + 1)
        if not run:
            return None
        if match["without"]:
            numbers.difference_update(run)
        else:
            numbers.update(run)
    return tuple(sorted(numbers))

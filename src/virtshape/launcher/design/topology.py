"""Design the vCPU topology of a guest, including vCPUs that can be plugged in."""

from virtshape.api.hotpluglimits import MAX_VCPUS, get_hotplug_limits
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.domain.cpu import Topology, Vcpu, Vcpus


def lay_out_vcpus(domain: DomainSpec) -> Topology:
    """Return the initial sockets, cores and threads; by default, one socket per CPU in the limits, else requests."""
    cpu, resources = domain.cpu, domain.resources
    if cpu is not None and (cpu.sockets or cpu.cores or cpu.threads):
        return Topology(cpu.sockets or 1, cpu.cores or 1, cpu.threads or 1)
    if cpu is not None and cpu.guest:
        return Topology(cpu.guest)
    for amounts in (resources.limits, resources.requests) if resources is not None else ():
        if amounts and "cpu" in amounts:
            return Topology(max(amounts["cpu"].value(), 1))
    return Topology()


def design_topology(context: DesignContext, machine: str) -> Topology:
    """Return the topology, including sockets that can be plugged in later."""
    start, cpu = lay_out_vcpus(context.spec.domain), context.spec.domain.cpu
    stated = cpu.max_sockets if cpu is not None else None
    most = get_hotplug_limits(context.vmi).sockets or start.sockets
    if not stated:  # a default maximum must not prevent the start
        most = _limit_sockets(context, machine, start, most)
    if most < start.sockets:
        context.refuse(
            "spec.domain.cpu.maxSockets", f"is less than the {start.sockets} sockets that the guest starts with"
        )
    elif most > start.sockets and context.host.architecture != "amd64":
        context.note("spec.domain.cpu.maxSockets", "CPU hotplug is not supported for this architecture")
        most = start.sockets
    full = Topology(max(most, start.sockets), start.cores, start.threads)
    _check_count(context, machine, start, full)
    return full


def design_vcpus(start: Topology, full: Topology) -> Vcpus:
    """Return the number of vCPUs and, if some can be plugged in, their states; the first socket cannot be unplugged."""
    if full == start:
        return Vcpus(current=start.vcpus, maximum=full.vcpus)
    fixed = start.cores * start.threads
    each = tuple(
        Vcpu(id=number, enabled=number < start.vcpus, hotpluggable=number >= fixed) for number in range(full.vcpus)
    )
    return Vcpus(current=start.vcpus, maximum=full.vcpus, each=each)


def _limit_sockets(context: DesignContext, machine: str, start: Topology, most: int) -> int:
    """Return `most`, reduced to what the machine type is known to support, but at least the initial sockets."""
    limit = _find_limit(context, machine)
    if context.host.architecture != "amd64" or limit is None:
        return start.sockets
    return max(min(most, limit // (start.cores * start.threads)), start.sockets)


def _find_limit(context: DesignContext, machine: str) -> int | None:
    limits = [limit for limit in (context.host.max_vcpus.get(machine),) if limit]
    if context.host.architecture == "amd64":
        limits.append(MAX_VCPUS)
    return min(limits, default=None)


def _check_count(context: DesignContext, machine: str, start: Topology, full: Topology) -> None:
    limit = _find_limit(context, machine)
    if limit is None or full.vcpus <= limit:
        return
    field = "spec.domain.cpu.maxSockets" if start.vcpus <= limit else "spec.domain.cpu"
    context.refuse(field, f"results in {full.vcpus} vCPUs; the machine type {machine} supports {limit} at most")

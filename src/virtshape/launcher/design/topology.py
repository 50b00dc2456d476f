"""Design the vCPU topology of a guest, including vCPUs that can be plugged in."""

from typing import Final

from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.domain.cpu import Topology, Vcpu, Vcpus

_MAX_WITHOUT_IOMMU: Final = 255


def lay_out_vcpus(domain: DomainSpec) -> Topology:
    """Return the initial sockets, cores and threads; defaults to CPU limits, then to requests."""
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
    """Return the topology with the sockets that can be plugged in later."""
    start, cpu = lay_out_vcpus(context.spec.domain), context.spec.domain.cpu
    most = (cpu.max_sockets if cpu is not None else None) or start.sockets
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
    """Return all vCPUs; those of the first socket cannot be unplugged."""
    if full == start:
        return Vcpus(current=start.vcpus, maximum=full.vcpus)
    fixed = start.cores * start.threads
    each = tuple(
        Vcpu(id=number, enabled=number < start.vcpus, hotpluggable=number >= fixed) for number in range(full.vcpus)
    )
    return Vcpus(current=start.vcpus, maximum=full.vcpus, each=each)


def _check_count(context: DesignContext, machine: str, start: Topology, full: Topology) -> None:
    limits = [limit for limit in (context.host.max_vcpus.get(machine),) if limit]
    if context.host.architecture == "amd64":
        limits.append(_MAX_WITHOUT_IOMMU)
    if not limits or full.vcpus <= min(limits):
        return
    field = "spec.domain.cpu.maxSockets" if start.vcpus <= min(limits) else "spec.domain.cpu"
    context.refuse(field, f"results in {full.vcpus} vCPUs; the machine type {machine} supports {min(limits)} at most")

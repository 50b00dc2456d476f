"""Design I/O threads and assign them to disks."""

from msgspec import Struct

from virtshape.api.kubevirt.devices import Disk
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.launcher.design.context import DesignContext

_SEVERAL_FOR_A_DISK = 10_000_000
"""First libvirt version that supports several I/O threads per disk."""


class Threads(Struct):
    """I/O threads: the first threads are shared round-robin, and each of the remaining threads serves only one disk."""

    shared: int = 0
    own: int = 0
    handed_out: int = 0
    owned: int = 0

    @property
    def total(self) -> int:
        """Number of threads."""
        return self.shared + self.own

    def assign(self, disk: Disk) -> int | None:
        """Assign a thread to a disk and return the thread's number; return None if there are no I/O threads."""
        if not self.total:
            return None
        if disk.dedicated_io_thread and self.own:
            self.owned += 1
            return self.shared + self.owned
        self.handed_out += 1
        return (self.handed_out - 1) % self.shared + 1


def design_threads(context: DesignContext) -> Threads:
    """Return the number of shared and dedicated I/O threads."""
    domain = context.spec.domain
    disks = domain.devices.disks or ()
    own = sum(bool(disk.dedicated_io_thread) for disk in disks)
    policy = domain.io_threads_policy
    if policy is None and not own:
        return Threads()
    if policy == "supplementalPool":
        if context.host.libvirt < _SEVERAL_FOR_A_DISK:
            context.note("spec.domain.ioThreadsPolicy", "each disk uses one thread of the pool, assigned round-robin")
        return Threads(shared=(domain.io_threads and domain.io_threads.supplemental_pool_thread_count) or 1)
    wanting = len(disks) - own
    limit = _most_threads(domain) if policy == "auto" else 1
    return Threads(shared=wanting if len(disks) <= limit else max(limit - own, 1), own=own)


def _most_threads(domain: DomainSpec) -> int:
    """Return the thread limit of the policy `auto`: two per requested CPU, or 1 if the emulator thread is isolated."""
    cpu, resources = domain.cpu, domain.resources
    if cpu is not None and cpu.dedicated_cpu_placement and cpu.isolate_emulator_thread:
        return 1
    for amounts in (resources.requests, resources.limits) if resources else ():
        if amounts and "cpu" in amounts:
            return 2 * amounts["cpu"].value()
    return 2

"""I/O threads from the instance type."""

from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.domain import DiskIOThreads, DomainSpec


def check_io_threads(domain: DomainSpec, given: VirtualMachineInstancetypeSpec) -> list[str]:
    """Return the VM's I/O thread fields that conflict with the instance type."""
    clashes = []
    if _pool_size(domain.io_threads) is not None and _pool_size(given.io_threads) is not None:
        clashes.append("domain.ioThreads.supplementalPoolThreadCount")
    if domain.io_threads_policy is not None and given.io_threads_policy is not None:
        clashes.append("domain.ioThreadsPolicy")
    return clashes


def apply_io_threads(domain: DomainSpec, given: VirtualMachineInstancetypeSpec) -> None:
    """Set the I/O threads and their policy if the instance type sets them."""
    if _pool_size(given.io_threads) is not None:
        domain.io_threads = given.io_threads
    if given.io_threads_policy is not None:
        domain.io_threads_policy = given.io_threads_policy


def _pool_size(threads: DiskIOThreads | None) -> int | None:
    return threads.supplemental_pool_thread_count if threads else None

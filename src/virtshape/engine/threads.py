"""
I/O threads and launch security: whole values that an instance type gives and a VM may not give too.

Pure: no I/O, no clock, no logging.
"""

from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.domain import DiskIOThreads, DomainSpec


def check_threads(domain: DomainSpec, given: VirtualMachineInstancetypeSpec) -> list[str]:
    """The fields of the VM that say what its instance type says."""
    clashes = []
    if _pool_size(domain.io_threads) is not None and _pool_size(given.io_threads) is not None:
        clashes.append("domain.ioThreads.supplementalPoolThreadCount")
    if domain.io_threads_policy is not None and given.io_threads_policy is not None:
        clashes.append("domain.ioThreadsPolicy")
    if domain.launch_security is not None and given.launch_security is not None:
        clashes.append("domain.launchSecurity")
    return clashes


def apply_threads(domain: DomainSpec, given: VirtualMachineInstancetypeSpec) -> None:
    """Write what the instance type gives."""
    if _pool_size(given.io_threads) is not None:
        domain.io_threads = given.io_threads
    if given.io_threads_policy is not None:
        domain.io_threads_policy = given.io_threads_policy
    if given.launch_security is not None:
        domain.launch_security = given.launch_security


def _pool_size(threads: DiskIOThreads | None) -> int | None:
    return threads.supplemental_pool_thread_count if threads else None

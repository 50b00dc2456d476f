"""
Everything that is wrong with a guest by itself, topic by topic.

Pure. Most of it holds before an instance type and a preference have had their say as it does after.
"""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.rules.checks import check_value
from virtshape.admission.rules.disks import check_disks
from virtshape.admission.rules.networks import check_networks
from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec

_EVICTION_STRATEGIES: Final = ("None", "LiveMigrate", "LiveMigrateIfPossible", "External")
_IO_THREADS_POLICIES: Final = ("shared", "auto", "supplementalPool")


def check_instance(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[Violation]:
    """Everything that is wrong with what a VM starts; `root` is where it stands."""
    yield from check_value(f"{root}.evictionStrategy", spec.eviction_strategy, _EVICTION_STRATEGIES)
    yield from check_value(f"{root}.domain.ioThreadsPolicy", spec.domain.io_threads_policy, _IO_THREADS_POLICIES)
    yield from check_disks(spec, root)
    yield from check_networks(spec, root)


def check_guest(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[Violation]:
    """The same for a guest that is all there: instance type, preference and defaults have had their say."""
    yield from check_instance(spec, root)

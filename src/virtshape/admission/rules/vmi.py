"""All rules for a guest, before and after its instance type and preference are applied, and for labels of VMIs."""

from collections.abc import Iterator, Mapping
from typing import Final

from virtshape.admission.rules.bootorder import check_boot_orders
from virtshape.admission.rules.checks import NOT_SUPPORTED
from virtshape.admission.rules.clock import check_clock
from virtshape.admission.rules.cpu import check_cpus
from virtshape.admission.rules.devices import check_devices
from virtshape.admission.rules.disks import check_disks
from virtshape.admission.rules.firmware import check_firmware
from virtshape.admission.rules.memory import check_guest_memory
from virtshape.admission.rules.names import check_guest_names
from virtshape.admission.rules.networks import check_networks
from virtshape.admission.rules.optional import check_optional, check_optional_complete
from virtshape.admission.rules.probes import check_probes
from virtshape.admission.rules.scheduling import check_scheduling
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.wellknown import CREATED_BY_LABEL, NODE_LABEL, SCHEDULABLE_LABEL

EVICTION_STRATEGIES: Final = ("None", "LiveMigrate", "LiveMigrateIfPossible", "External")
IO_THREADS_POLICIES: Final = ("shared", "auto", "supplementalPool")
ARCHITECTURES: Final = ("amd64", "arm64", "s390x")
RESERVED_LABELS: Final = frozenset(
    {
        CREATED_BY_LABEL,
        "kubevirt.io/install-strategy",
        "kubevirt.io/migrationJobUID",
        "kubevirt.io/migrationTargetNodeName",
        NODE_LABEL,
        SCHEDULABLE_LABEL,
    }
)


def check_instance(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[FieldError]:
    """Yield all violations of a VMI spec before expansion; `root` is the spec's field path."""
    domain = spec.domain
    at_devices = f"{root}.domain.devices"
    if spec.eviction_strategy and spec.eviction_strategy not in EVICTION_STRATEGIES:
        field = f"{root}.evictionStrategy"
        reason = f"{field} is set with an unrecognized option: {spec.eviction_strategy}"
        yield FieldError(field, f"{reason}; use one of {', '.join(EVICTION_STRATEGIES)}", rule="unsupported-value")
    if spec.architecture and spec.architecture not in ARCHITECTURES:
        reason = f"unsupported architecture: {spec.architecture}"
        yield FieldError(
            f"{root}.architecture", f"{reason}; use one of {', '.join(ARCHITECTURES)}", rule="unsupported-value"
        )
    if domain.io_threads_policy and domain.io_threads_policy not in IO_THREADS_POLICIES:
        reason = f"Invalid IOThreadsPolicy ({domain.io_threads_policy})"
        message = f"{reason}: use one of {', '.join(IO_THREADS_POLICIES)}"
        yield FieldError(f"{root}.domain.ioThreadsPolicy", message, rule="unsupported-value")
    yield from check_disks(spec, root)
    yield from check_networks(spec, root)
    yield from check_boot_orders(domain.devices, at_devices)
    yield from check_devices(domain.devices, at_devices)
    yield from check_guest_names(spec, root)
    yield from check_scheduling(spec, root)
    yield from check_probes(spec, root)
    if domain.clock is not None:
        yield from check_clock(domain.clock, f"{root}.domain.clock")
    yield from check_optional(spec, root)


def check_guest(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[FieldError]:
    """Yield all violations of a VMI spec after instance type, preference and defaults were applied."""
    yield from check_instance(spec, root)
    at = f"{root}.domain"
    yield from check_cpus(spec.domain, at)
    yield from check_guest_memory(spec.domain, at)
    yield from check_firmware(spec.domain, at)
    yield from check_optional_complete(spec, root)
    if spec.domain.io_threads_policy == "supplementalPool":
        threads = spec.domain.io_threads
        if threads is None or not threads.supplemental_pool_thread_count:
            field = f"{at}.ioThreads.supplementalPoolThreadCount"
            reason = "the number of iothreads needs to be set and positive for the dedicated policy"
            yield FieldError(field, f"{reason} supplementalPool", rule="impossible-combination")


def check_labels(labels: Mapping[str, str], at: str) -> Iterator[FieldError]:
    """Yield an error if there are reserved labels; `at` is the field path of the labels."""
    if not RESERVED_LABELS.isdisjoint(labels):
        reserved = ", ".join(sorted(RESERVED_LABELS & labels.keys()))
        reason = "creation of the following reserved kubevirt.io/ labels on a VMI object is prohibited"
        yield FieldError(at, f"{reason}: {reserved}", NOT_SUPPORTED, rule="unsupported-value")


def check_label_changes(labels: Mapping[str, str], before: Mapping[str, str], at: str) -> Iterator[FieldError]:
    """Yield an error if reserved labels were added, changed or removed; `before` has the previous labels."""
    changed = sorted(label for label in RESERVED_LABELS if labels.get(label) != before.get(label))
    if changed:
        reason = "modification of the following reserved kubevirt.io/ labels on a VMI object is prohibited"
        yield FieldError(at, f"{reason}: {', '.join(changed)}", NOT_SUPPORTED, rule="unsupported-value")

"""
Resource requests and limits of the launcher container: CPU, memory, huge pages and devices.

The functions are pure. Dedicated CPUs make the pod Guaranteed; devices are set as limits and requests.
"""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from virtshape.api.core.container import ResourceRequirements
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.quantity import Quantity
from virtshape.api.wellknown import KVM_DEVICE
from virtshape.controllers.pods.overhead import get_memory, is_dedicated, measure_overhead
from virtshape.controllers.vm.status import measure

VSOCK: Final = "devices.kubevirt.io/vhost-vsock"
SEV: Final = "devices.kubevirt.io/sev"
TDX: Final = "devices.kubevirt.io/tdx"
HUGEPAGES: Final = "hugepages-"
DEFAULT_ALLOCATION_RATIO: Final = 10
EPHEMERAL_STORAGE: Final = 50_000_000
"""Ephemeral storage in bytes for logs and sockets, in addition to writable image layers."""

Amounts = dict[str, Quantity]


def build_resources(
    spec: VirtualMachineInstanceSpec,
    configuration: KubeVirtConfiguration | None,
    *,
    even_parity: bool = False,
    namespace_labels: Mapping[str, str] = MappingProxyType({}),
) -> ResourceRequirements:
    """Return requests and limits of the container that runs the guest."""
    domain = spec.domain
    given = domain.resources
    requests: Amounts = dict((given.requests if given else None) or {})
    limits: Amounts = dict((given.limits if given else None) or {})
    overhead = measure_overhead(spec, configuration)
    _put_memory(domain, requests, limits, overhead)
    if is_dedicated(domain):
        _put_own_cpus(spec, requests, limits, even_parity=even_parity)
    elif "cpu" not in requests and "cpu" not in limits:
        requests["cpu"] = _share_cpus(spec, configuration)
    if "cpu" not in limits and _has_cpu_limit(configuration, namespace_labels):
        limits["cpu"] = max(Quantity(str(measure(spec).vcpus or 1)), requests["cpu"], key=lambda each: each.amount)
    _put_ephemeral_storage(requests, limits)
    devices = _list_devices(spec, configuration)
    return ResourceRequirements(requests=requests | devices, limits=(limits | devices) or None)


def _has_cpu_limit(configuration: KubeVirtConfiguration | None, namespace_labels: Mapping[str, str]) -> bool:
    """Return True if pods in a namespace with these labels are limited to the vCPUs of their guest."""
    selector = configuration.auto_cpu_limit_namespace_label_selector if configuration else None
    return selector is not None and selector.matches(namespace_labels)


def _put_memory(domain: DomainSpec, requests: Amounts, limits: Amounts, overhead: int) -> None:
    wanted, given = get_memory(domain), domain.resources
    most = limits["memory"].value() if "memory" in limits else None
    pages = domain.memory.hugepages if domain.memory else None
    backed = 0
    if pages is not None:
        guest = domain.memory.guest if domain.memory else None
        backed = min(wanted, guest.value()) if guest is not None else wanted
        requests[f"{HUGEPAGES}{pages.page_size}"] = limits[f"{HUGEPAGES}{pages.page_size}"] = _bytes(backed)
    is_overcommitted = given is not None and given.overcommit_guest_overhead and pages is None
    requests["memory"] = _bytes(wanted - backed + (0 if is_overcommitted else overhead))
    if most is not None:
        limits["memory"] = _bytes(max(most - backed, 0) + overhead)


def _put_own_cpus(spec: VirtualMachineInstanceSpec, requests: Amounts, limits: Amounts, *, even_parity: bool) -> None:
    """Request whole CPUs and set limits equal to requests, as dedicated CPUs require."""
    cpus = (measure(spec).vcpus or 1) + _count_io_threads(spec)
    if spec.domain.cpu is not None and spec.domain.cpu.isolate_emulator_thread:
        cpus += 2 if even_parity and cpus % 2 == 0 else 1
    requests["cpu"] = limits["cpu"] = Quantity(str(cpus))
    limits["memory"] = requests["memory"]


def _share_cpus(spec: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None) -> Quantity:
    developer = configuration.developer_configuration if configuration else None
    ratio = (developer.cpu_allocation_ratio if developer else None) or DEFAULT_ALLOCATION_RATIO
    cpus = (measure(spec).vcpus or 1) + _count_io_threads(spec)
    return Quantity(f"{-(-cpus * 1000 // ratio)}m")


def _count_io_threads(spec: VirtualMachineInstanceSpec) -> int:
    threads = spec.domain.io_threads
    return (threads.supplemental_pool_thread_count if threads else None) or 0


def _put_ephemeral_storage(requests: Amounts, limits: Amounts) -> None:
    name = "ephemeral-storage"
    requests[name] = Quantity.of((requests[name].value() if name in requests else 0) + EPHEMERAL_STORAGE, "DecimalSI")
    if name in limits:
        limits[name] = Quantity.of(limits[name].value() + EPHEMERAL_STORAGE, "DecimalSI")


def _list_devices(spec: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None) -> Amounts:
    devices, security = spec.domain.devices, spec.domain.launch_security
    counted: Counter[str] = Counter()
    developer = configuration.developer_configuration if configuration else None
    if developer is None or not developer.use_emulation:
        counted[KVM_DEVICE] += 1
    if devices.autoattach_vsock:
        counted[VSOCK] += 1
    if security is not None and (security.sev is not None or security.snp is not None):
        counted[SEV] += 1
    if security is not None and security.tdx is not None:
        counted[TDX] += 1
    counted.update(device.device_name for device in devices.gpus or () if device.device_name)
    counted.update(device.device_name for device in devices.host_devices or () if device.device_name)
    return {name: Quantity(str(count)) for name, count in counted.items()}


def _bytes(amount: int) -> Quantity:
    return Quantity.of(amount, "BinarySI")

"""
Memory overhead of a guest: page tables, QEMU, libvirt and the launcher.

The functions are pure. The values are the same as in KubeVirt, so that capacity plans made for KubeVirt remain valid.
"""

from typing import Final

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.quantity import Quantity
from virtshape.controllers.vm.status import measure
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE

MI: Final = 1 << 20
PROCESSES: Final = (25 + 100 + 25 + 40 + 30) * MI
"""Memory of the launcher and its monitor, libvirt's logger and driver, and QEMU without guest memory."""
PAGE_TABLES: Final = 512
"""Bytes of guest memory per byte of page tables."""
VCPU: Final = 8 * MI
IO_THREAD: Final = 8 * MI
GRAPHICS: Final = 32 * MI
ARM_FIRMWARE: Final = 128 * MI
PASSED_THROUGH: Final = 1024 * MI
METRICS: Final = 1 * MI
PROBING: Final = 100 * MI
PROBE: Final = 10 * MI
ENCRYPTION: Final = 256 * MI
TPM: Final = 53 * MI
GUARANTEED: Final = 100 * MI


def measure_overhead(spec: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None = None) -> int:
    """Return the bytes that the pod needs in addition to the guest's memory."""
    domain, devices = spec.domain, spec.domain.devices
    total = get_memory(domain) // PAGE_TABLES + PROCESSES + IO_THREAD
    total += (measure(spec).vcpus or 1) * VCPU
    total += GRAPHICS * (devices.autoattach_graphics_device is not False)
    total += ARM_FIRMWARE * ((spec.architecture or DEFAULT_ARCHITECTURE) == "arm64")
    total += PASSED_THROUGH * bool(devices.gpus or devices.host_devices)
    total += METRICS * any(volume.downward_metrics is not None for volume in spec.volumes or ())
    total += _measure_probes(spec)
    security = domain.launch_security
    total += ENCRYPTION * (security is not None and (security.sev is not None or security.snp is not None))
    total += TPM * (devices.tpm is not None and devices.tpm.enabled is not False)
    total += GUARANTEED * (is_dedicated(domain) or is_guaranteed(domain))
    ratio = configuration.additional_guest_memory_overhead_ratio if configuration else None
    return int(total * Quantity(ratio).amount) if ratio else total


def get_memory(domain: DomainSpec) -> int:
    """Return the requested memory in bytes, or the guest memory if nothing is requested."""
    requests = (domain.resources.requests if domain.resources else None) or {}
    guest = domain.memory.guest if domain.memory else None
    return (requests.get("memory") or guest or Quantity("0")).value()


def is_dedicated(domain: DomainSpec) -> bool:
    """Return True if the guest has dedicated CPUs."""
    return bool(domain.cpu and domain.cpu.dedicated_cpu_placement)


def is_guaranteed(domain: DomainSpec) -> bool:
    """Return True if requests equal limits for CPU and memory."""
    requests = (domain.resources.requests if domain.resources else None) or {}
    limits = (domain.resources.limits if domain.resources else None) or {}
    return all(
        name in requests and name in limits and requests[name].same_as(limits[name]) for name in ("cpu", "memory")
    )


def _measure_probes(spec: VirtualMachineInstanceSpec) -> int:
    probes = sum(probe is not None and probe.exec is not None for probe in (spec.liveness_probe, spec.readiness_probe))
    return PROBING * bool(probes) + PROBE * probes

"""
Decide whether libvirt may skip its CPU feature probe, which takes most of a guest's start time.

Libvirt queries QEMU for hundreds of features one by one. That is needed under KVM and for features that CPUID does not
report, such as Hyper-V enlightenments. Decodes only the fields of the launch request that matter.
"""

from typing import Any

import msgspec
from msgspec import Struct


class _Features(Struct):
    hyperv: Any = None
    hyperv_passthrough: Any = msgspec.field(name="hypervPassthrough", default=None)


class _Cpu(Struct):
    features: Any = None


class _Domain(Struct):
    features: _Features | None = None
    cpu: _Cpu | None = None


class _Spec(Struct):
    domain: _Domain


class _Instance(Struct):
    spec: _Spec


class _Host(Struct, frozen=True):
    kvm: bool = False


class _LaunchRequest(Struct):
    vmi: _Instance
    host: _Host = _Host()


def can_skip_cpu_probe(launch_request: bytes) -> bool:
    """Return True if libvirt may skip CPU feature probing: the guest is emulated and names no CPU features."""
    read = msgspec.json.decode(launch_request, type=_LaunchRequest)
    domain = read.vmi.spec.domain
    requested = (
        domain.features.hyperv if domain.features else None,
        domain.features.hyperv_passthrough if domain.features else None,
        domain.cpu.features if domain.cpu else None,
    )
    return not read.host.kvm and all(one is None for one in requested)

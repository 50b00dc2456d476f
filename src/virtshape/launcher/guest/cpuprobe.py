"""
Whether a guest can do without libvirt's look at every feature of its CPU, which takes most of the time of a start.

Libvirt asks QEMU about hundreds of features, one by one. It needs to where a feature is asked for that CPUID does not
show, as Hyper-V's are, and under KVM. Only reads the few fields of an launch_request that bear on it.
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
    """Whether the guest of this launch_request is emulated, and asks for no feature of its CPU by name."""
    read = msgspec.json.decode(launch_request, type=_LaunchRequest)
    domain = read.vmi.spec.domain
    asked = (
        domain.features.hyperv if domain.features else None,
        domain.features.hyperv_passthrough if domain.features else None,
        domain.cpu.features if domain.cpu else None,
    )
    return not read.host.kvm and all(one is None for one in asked)

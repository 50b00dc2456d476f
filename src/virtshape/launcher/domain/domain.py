"""A libvirt domain and its launch security: the structs and their XML."""

from typing import Final, Literal
from xml.etree.ElementTree import Element, indent, tostring

from msgspec import Struct

from virtshape.launcher.domain.clock import Clock, render_clock
from virtshape.launcher.domain.cpu import Cpu, Vcpus, render_cpu, render_vcpus
from virtshape.launcher.domain.devices.devices import Devices, render_devices
from virtshape.launcher.domain.features import Features, render_features
from virtshape.launcher.domain.memory import Memory, MemoryBacking, render_backing, render_memory
from virtshape.launcher.domain.os import Os, SysInfo, render_os, render_sysinfo
from virtshape.launcher.domain.tuning import CpuTune, NumaTune, render_cpu_tune, render_numa_tune
from virtshape.launcher.domain.xml import add

METADATA_NAMESPACE: Final = "http://kubevirt.io"
QEMU_NAMESPACE: Final = "http://libvirt.org/schemas/domain/qemu/1.0"


class LaunchSecurity(Struct, frozen=True, kw_only=True):
    """A confidential computing technology and its settings."""

    kind: Literal["sev", "sev-snp", "tdx", "s390-pv"]
    policy: int | None = None
    dh_cert: str | None = None
    session: str | None = None


def render_security(domain: Element, security: LaunchSecurity) -> None:
    """Append the XML element `launchSecurity`."""
    element = add(domain, "launchSecurity", {"type": security.kind})
    if security.policy is not None:
        add(element, "policy", text=f"0x{security.policy:04x}")
    if security.dh_cert is not None:
        add(element, "dhCert", text=security.dh_cert)
    if security.session is not None:
        add(element, "session", text=security.session)


class Metadata(Struct, frozen=True, kw_only=True):
    """Metadata about the instance, stored in the domain."""

    uid: str
    grace_period: int | None = None
    """Seconds until a shutdown is forced."""


class Domain(Struct, frozen=True, kw_only=True):
    """A libvirt domain."""

    type: Literal["kvm", "qemu"]
    name: str
    uuid: str | None = None
    title: str | None = None
    metadata: Metadata | None = None
    memory: Memory
    backing: MemoryBacking | None = None
    vcpus: Vcpus
    iothreads: int = 0
    cpu_tune: CpuTune | None = None
    numa_tune: NumaTune | None = None
    sysinfo: SysInfo | None = None
    os: Os
    features: Features
    cpu: Cpu
    clock: Clock
    on_poweroff: Literal["destroy"] = "destroy"
    on_reboot: Literal["restart", "destroy"] = "restart"
    on_crash: Literal["destroy"] = "destroy"
    devices: Devices
    security: LaunchSecurity | None = None
    arguments: tuple[str, ...] = ()
    """Extra QEMU arguments for features that libvirt has no element for."""


def render_domain_xml(domain: Domain) -> str:
    """Return the XML of a domain."""
    root = Element("domain", {"type": domain.type})
    _render_identity(root, domain)
    _render_size(root, domain)
    if domain.sysinfo is not None:
        render_sysinfo(root, domain.sysinfo)
    render_os(root, domain.os)
    render_features(root, domain.features)
    render_cpu(root, domain.cpu)
    render_clock(root, domain.clock)
    add(root, "on_poweroff", text=domain.on_poweroff)
    add(root, "on_reboot", text=domain.on_reboot)
    add(root, "on_crash", text=domain.on_crash)
    root.append(render_devices(domain.devices))
    if domain.security is not None:
        render_security(root, domain.security)
    if domain.arguments:
        _render_arguments(root, domain.arguments)
    indent(root)
    return tostring(root, encoding="unicode") + "\n"


def _render_identity(root: Element, domain: Domain) -> None:
    add(root, "name", text=domain.name)
    if domain.uuid is not None:
        add(root, "uuid", text=domain.uuid)
    if domain.title is not None:
        add(root, "title", text=domain.title)
    if domain.metadata is not None:
        _render_metadata(root, domain.metadata)


def _render_metadata(root: Element, metadata: Metadata) -> None:
    own = add(add(root, "metadata"), "kubevirt", {"xmlns": METADATA_NAMESPACE})
    add(own, "uid", text=metadata.uid)
    if metadata.grace_period is not None:
        add(add(own, "graceperiod"), "deletionGracePeriodSeconds", text=metadata.grace_period)


def _render_size(root: Element, domain: Domain) -> None:
    render_memory(root, domain.memory)
    if domain.backing is not None:
        render_backing(root, domain.backing)
    render_vcpus(root, domain.vcpus)
    if domain.iothreads:
        add(root, "iothreads", text=domain.iothreads)
    if domain.cpu_tune is not None:
        render_cpu_tune(root, domain.cpu_tune)
    if domain.numa_tune is not None:
        render_numa_tune(root, domain.numa_tune)


def _render_arguments(root: Element, arguments: tuple[str, ...]) -> None:
    root.set("xmlns:qemu", QEMU_NAMESPACE)
    element = add(root, "qemu:commandline")
    for argument in arguments:
        add(element, "qemu:arg", {"value": argument})
    if "-set" in arguments:  # QEMU's -set works only on network devices that are not given as JSON
        add(add(root, "qemu:capabilities"), "qemu:del", {"capability": "netdev.json"})

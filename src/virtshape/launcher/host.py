"""Capabilities of a host that domain design depends on. This module contains plain data and detects nothing."""

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct, field

from virtshape.api.architecture import Architecture

LOOPBACK: Final = "127.0.0.1"
Isolation = Literal["none", "namespace", "restricted"]
"""How user-mode networking is isolated from the host and other guests."""


class Firmware(Struct, frozen=True):
    """A UEFI build: code and variable template."""

    code: str
    variables: str
    secure_boot: bool = False


class NumaCell(Struct, frozen=True):
    """A NUMA node and its CPUs."""

    id: int
    cores: tuple[tuple[int, ...], ...]
    """CPU numbers, grouped by core."""


class Smbios(Struct, frozen=True, kw_only=True):
    """System information in the guests' SMBIOS tables."""

    manufacturer: str = "KubeVirt"
    product: str = "None"
    family: str = "KubeVirt"
    sku: str = ""
    version: str = ""


class Host(Struct, frozen=True, kw_only=True):
    """A host that runs guests."""

    architecture: Architecture = "amd64"
    kvm: bool = False
    emulator: str = "/usr/bin/qemu-system-x86_64"
    cpus: tuple[int, ...] = ()
    """CPUs that guests may be pinned to."""
    numa_cells: tuple[NumaCell, ...] = ()
    """NUMA topology of `cpus`; if it is empty, each CPU counts as a core in a single cell."""
    realtime: bool = False
    """Whether realtime scheduling is permitted."""
    locked_memory: bool = False
    """Whether guests may lock memory."""
    memory: int = 0
    """Memory size in bytes."""
    hugepages: Mapping[str, int] = {}
    """Number of huge pages by size, for example `2Mi`."""
    machine_types: frozenset[str] = frozenset()
    machine_aliases: Mapping[str, str] = {}
    """Machine types by alias, for example `q35`."""
    max_vcpus: Mapping[str, int] = field(default_factory=dict, name="most_vcpus")
    """
    Maximum number of vCPUs by machine type; machine types that are not listed have no limit.

    Stored as `most_vcpus`.
    """
    cpu_models: frozenset[str] = frozenset()
    """CPU models that are fully supported."""
    partial_cpu_models: frozenset[str] = frozenset()
    """CPU models that QEMU knows, but whose features this host does not fully support."""
    cpu_features: frozenset[str] = frozenset()
    """Supported CPU features; empty if unknown."""
    firmwares: tuple[Firmware, ...] = ()
    tpm: bool = False
    """Whether a TPM can be emulated."""
    cluster: bool = False
    """Whether the guest runs in a cluster, which handles placement and DNS."""
    port_address: str = LOOPBACK
    """Host address on which guest ports are opened; on loopback, ports below 1024 get another number."""
    isolation: Isolation = "none"
    isolation_reason: str = ""
    """Why guests have no network namespace; empty if they have one or need none."""
    tap: bool = False
    """Whether guests may have tap devices."""
    vhost_net: bool = False
    vsock: bool = False
    sev: bool = False
    sev_es: bool = False
    """Whether SEV-ES is supported, which also encrypts registers."""
    snp: bool = False
    tdx: bool = False
    secure_execution: bool = False
    """Whether Secure Execution is supported (s390x)."""
    smbios: Smbios = Smbios()
    devices: Mapping[str, tuple[str, ...]] = {}
    """Host devices by resource name: PCI addresses, UUIDs of mediated devices, or `bus:device` for USB."""
    bridges: Mapping[str, str] = {}
    """Bridges for tap devices, by network: `pod`, or the name of a secondary network."""
    libvirt: int = 9_000_000
    """libvirt's version number, for example 9000000 for 9.0.0."""
    qemu: int = 7_002_000
    """QEMU's version number in libvirt's format."""
    video_models: frozenset[str] = frozenset()
    """Video models that QEMU supports; empty if unknown."""
    usb_redirection: bool = True
    """Whether USB redirection is supported."""
    virtiofs: bool = False
    """Whether directories can be shared with guests."""
    downward_metrics: bool = False
    """Whether downward metrics are supported."""
    mount_obstacle: str = ""
    """Why guests cannot have mount namespaces; empty if they can, or if they run as the server's own user."""
    reservations: str | None = None
    """Socket of the helper that makes SCSI reservations for guests; None if there is no helper."""

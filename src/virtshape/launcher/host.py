"""
What a machine offers to guests, as far as the design of a domain depends on it.

Plain facts, found elsewhere; nothing here looks at the machine.
"""

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

Architecture = Literal["amd64", "arm64", "s390x"]
LOOPBACK: Final = "127.0.0.1"
Isolation = Literal["none", "namespace", "restricted"]
"""How user-mode networking is kept from the machine and other guests, if at all."""


class Firmware(Struct, frozen=True):
    """A build of UEFI: its code, and the variables that a guest begins with."""

    code: str
    variables: str
    secure_boot: bool = False


class NumaCell(Struct, frozen=True):
    """Memory and the CPUs that are near it."""

    id: int
    cores: tuple[tuple[int, ...], ...]
    """The numbers of the CPUs, those that share a core together."""


class Smbios(Struct, frozen=True, kw_only=True):
    """What guests read about the system they run on."""

    manufacturer: str = "KubeVirt"
    product: str = "None"
    family: str = "KubeVirt"
    sku: str = ""
    version: str = ""


class Host(Struct, frozen=True, kw_only=True):
    """One machine that runs guests."""

    architecture: Architecture = "amd64"
    kvm: bool = False
    emulator: str = "/usr/bin/qemu-system-x86_64"
    cpus: tuple[int, ...] = ()
    """The numbers of the CPUs that guests may be pinned to."""
    numa_cells: tuple[NumaCell, ...] = ()
    """How those CPUs lie; each a core of its own, near all memory, where nobody has looked."""
    realtime: bool = False
    """Whether vCPUs may be scheduled before everything else."""
    locked_memory: bool = False
    """Whether guests may keep memory from being paged out."""
    memory: int = 0
    """Bytes."""
    hugepages: Mapping[str, int] = {}
    """How many pages there are of each size, as in `2Mi`."""
    machine_types: frozenset[str] = frozenset()
    machine_aliases: Mapping[str, str] = {}
    """The machine types that other names stand for, as in `q35`."""
    most_vcpus: Mapping[str, int] = {}
    """How many vCPUs a machine type has at most; a type that is absent sets no bound."""
    cpu_models: frozenset[str] = frozenset()
    """Models that guests can have with all their features."""
    partial_cpu_models: frozenset[str] = frozenset()
    """Models that QEMU knows, but of which this machine lacks some features."""
    cpu_features: frozenset[str] = frozenset()
    """Features that a guest's CPU can have; none where nobody has looked."""
    firmwares: tuple[Firmware, ...] = ()
    tpm: bool = False
    """Whether a TPM can be emulated."""
    cluster: bool = False
    """Whether a cluster has placed the guest here, and sees to names and name servers."""
    port_address: str = LOOPBACK
    """Where ports that instances name are opened; elsewhere than on loopback, also those below 1024."""
    isolation: Isolation = "none"
    isolation_reason: str = ""
    """Why guests have no network namespace, where they should have one."""
    tap: bool = False
    """Whether guests may have tap devices."""
    vhost_net: bool = False
    vsock: bool = False
    sev: bool = False
    sev_es: bool = False
    """Whether SEV also encrypts the registers."""
    snp: bool = False
    tdx: bool = False
    secure_execution: bool = False
    """Whether s390x guests can be hidden from their host."""
    smbios: Smbios = Smbios()
    devices: Mapping[str, tuple[str, ...]] = {}
    """Host devices by the resource name they are offered under: PCI addresses, mediated ids, USB `bus:device`."""
    bridges: Mapping[str, str] = {}
    """Bridges to plug tap devices into, by the network they stand for: `pod`, or the name of a secondary network."""
    libvirt: int = 9_000_000
    """Its version, as libvirt counts them."""
    qemu: int = 7_002_000
    """Its version, counted in the same way."""
    video_models: frozenset[str] = frozenset()
    """Graphics cards that QEMU has; none where nobody has looked."""
    usb_redirection: bool = True
    """Whether a client can lend a USB device to a guest."""
    virtiofs: bool = False
    """Whether directories can be shared with guests."""
    downward_metrics: bool = False
    """Whether somebody serves metrics of the host to guests."""
    mount_obstacle: str = ""
    """Why root's guests have no mount namespace; empty if they have one, or if guests run as the server's own user."""
    reservations: str | None = None
    """Socket of the helper that makes SCSI reservations."""

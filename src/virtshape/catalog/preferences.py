"""The catalog's preferences: a table of guest operating systems, each with the fragments of its preference."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from virtshape.api.model import JsonObject
from virtshape.api.wellknown import GUEST_OS_ANNOTATION, OPENSHIFT_DISPLAY_NAME_ANNOTATION
from virtshape.catalog.fragments import (
    AMD64,
    ARM64,
    DISK_IO_THREAD,
    DPDK,
    EFI,
    HEADLESS,
    LINUX,
    MULTI_QUEUE,
    NO_PCI_HOLE,
    S390X,
    SECURE_BOOT,
    SECURE_EXECUTION,
    TABLET,
    TPM,
    TRANSITIONAL,
    VIRTIO,
    VIRTIO_VIDEO,
    WINDOWS,
    Fragment,
    buses,
    guest_os,
    merge,
    needs,
    spread_over_threads,
    topology,
)


class Guest(NamedTuple):
    """The title of a guest operating system, and the fragments of its preference."""

    title: str
    fragments: tuple[Fragment, ...]


def _guest(title: str, *fragments: Fragment) -> Guest:
    return Guest(title, fragments)


_EL9 = (LINUX, DISK_IO_THREAD, needs(1, "1.5Gi"))
_EL9_AMD64 = (*_EL9, AMD64, SECURE_BOOT)

_GENERIC = {
    "legacy": _guest("Guest without virtio drivers", guest_os("legacy"), buses("sata", "e1000")),
    "linux": _guest("Linux", LINUX),
    "linux.efi": _guest("Linux booted with EFI", LINUX, EFI),
    "linux.virtiotransitional": _guest("Linux with early virtio drivers", LINUX, TRANSITIONAL),
}

_LINUX = {
    "alpine": _guest("Alpine Linux", LINUX, needs(1, "512Mi")),
    "centos.stream9": _guest("CentOS Stream 9 server", *_EL9),
    "centos.stream9.desktop": _guest("CentOS Stream 9 desktop", *_EL9, TABLET),
    "centos.stream9.dpdk": _guest("CentOS Stream 9 for DPDK", *_EL9, DPDK, needs(8, "1.5Gi")),
    "centos.stream10": _guest("CentOS Stream 10 server", *_EL9),
    "centos.stream10.desktop": _guest("CentOS Stream 10 desktop", *_EL9, TABLET),
    "cirros": _guest("CirrOS test image", LINUX, needs(1, "256Mi")),
    "debian": _guest("Debian GNU/Linux", LINUX, EFI, needs(1, "512Mi")),
    "fedora": _guest("Fedora Linux, amd64", LINUX, AMD64, SECURE_BOOT, needs(1, "2Gi")),
    "fedora.arm64": _guest("Fedora Linux, arm64", LINUX, ARM64, needs(1, "2Gi")),
    "fedora.s390x": _guest("Fedora Linux, s390x", LINUX, S390X, needs(1, "2Gi")),
    "fedora.s390x.secex": _guest(
        "Fedora Linux, s390x with Secure Execution", LINUX, S390X, SECURE_EXECUTION, needs(1, "2Gi")
    ),
    "opensuse.leap": _guest("openSUSE Leap", LINUX, needs(1, "2Gi")),
    "opensuse.tumbleweed": _guest("openSUSE Tumbleweed", LINUX, needs(1, "2Gi")),
    "oraclelinux": _guest("Oracle Linux server", LINUX, EFI, needs(2, "4Gi")),
    "rhel.7": _guest("RHEL 7 server", LINUX, needs(1, "1Gi")),
    "rhel.7.desktop": _guest("RHEL 7 desktop", LINUX, needs(1, "1Gi"), TABLET),
    "rhel.8": _guest("RHEL 8 server", LINUX, needs(1, "1.5Gi")),
    "rhel.8.desktop": _guest("RHEL 8 desktop", LINUX, needs(1, "1.5Gi"), TABLET),
    "rhel.8.dpdk": _guest("RHEL 8 for DPDK", LINUX, needs(8, "1.5Gi"), DPDK),
    "rhel.9": _guest("RHEL 9 server, amd64", *_EL9_AMD64),
    "rhel.9.desktop": _guest("RHEL 9 desktop, amd64", *_EL9_AMD64, TABLET),
    "rhel.9.dpdk": _guest("RHEL 9 for DPDK, amd64", *_EL9_AMD64, DPDK, needs(8, "1.5Gi")),
    "rhel.9.realtime": _guest(
        "RHEL 9 for real time, amd64", *_EL9_AMD64, HEADLESS, MULTI_QUEUE, spread_over_threads(), needs(4, "4Gi")
    ),
    "rhel.9.arm64": _guest("RHEL 9 server, arm64", *_EL9, ARM64),
    "rhel.9.s390x": _guest("RHEL 9 server, s390x", *_EL9, S390X),
    "rhel.9.s390x.secex": _guest("RHEL 9 server, s390x with Secure Execution", *_EL9, S390X, SECURE_EXECUTION),
    "rhel.10": _guest("RHEL 10 server, amd64", *_EL9_AMD64),
    "rhel.10.arm64": _guest("RHEL 10 server, arm64", *_EL9, ARM64),
    "rhel.10.s390x": _guest("RHEL 10 server, s390x", *_EL9, S390X),
    "rhel.10.s390x.secex": _guest("RHEL 10 server, s390x with Secure Execution", *_EL9, S390X, SECURE_EXECUTION),
    "sles": _guest("SUSE Linux Enterprise", LINUX, needs(1, "2Gi")),
    "ubuntu": _guest("Ubuntu Linux", LINUX, needs(1, "2Gi")),
}

_ON_CORES = (WINDOWS, topology("cores"), buses("sata", "e1000e"))
_ON_SOCKETS = (WINDOWS, topology("sockets"), buses("sata", "e1000e"))

_WINDOWS = {
    "windows.xp": _guest("Windows XP", *_ON_SOCKETS, NO_PCI_HOLE, needs(1, "128Mi")),
    "windows.7": _guest("Windows 7", *_ON_SOCKETS, needs(1, "2Gi")),
    "windows.10": _guest("Windows 10", *_ON_CORES, SECURE_BOOT, needs(1, "2Gi")),
    "windows.11": _guest("Windows 11", *_ON_CORES, SECURE_BOOT, TPM, needs(2, "4Gi")),
    "windows.2k3": _guest(
        "Windows Server 2003", *_ON_SOCKETS, buses("sata", "rtl8139"), NO_PCI_HOLE, needs(1, "256Mi")
    ),
    "windows.2k8": _guest("Windows Server 2008 and 2008 R2", *_ON_SOCKETS, buses("sata", "e1000"), needs(1, "512Mi")),
    "windows.2k12": _guest("Windows Server 2012 and 2012 R2", *_ON_SOCKETS, needs(1, "512Mi")),
    "windows.2k16": _guest("Windows Server 2016", *_ON_SOCKETS, SECURE_BOOT, needs(1, "2Gi")),
    "windows.2k19": _guest("Windows Server 2019", *_ON_SOCKETS, SECURE_BOOT, needs(1, "2Gi")),
    "windows.2k22": _guest("Windows Server 2022", *_ON_SOCKETS, SECURE_BOOT, TPM, needs(1, "2Gi")),
    "windows.2k25": _guest("Windows Server 2025", *_ON_SOCKETS, SECURE_BOOT, TPM, needs(1, "2Gi")),
}
_WITHOUT_VIRTIO_DRIVERS = ("windows.xp", "windows.2k3")


def _with_virtio_variants(guests: Mapping[str, Guest]) -> dict[str, Guest]:
    variants = {}
    for name, guest in guests.items():
        variants[name] = guest
        if name not in _WITHOUT_VIRTIO_DRIVERS:
            title = f"{guest.title}, virtio drivers"
            variants[f"{name}.virtio"] = _guest(title, *guest.fragments, VIRTIO, TABLET, VIRTIO_VIDEO)
    return variants


PREFERENCES = _GENERIC | _LINUX | _with_virtio_variants(_WINDOWS)


def names() -> list[str]:
    """Return the names of all preferences."""
    return list(PREFERENCES)


def describe(name: str) -> JsonObject:
    """Return the metadata and the spec of a preference."""
    guest = PREFERENCES[name]
    spec = merge(*guest.fragments)
    annotations = {OPENSHIFT_DISPLAY_NAME_ANNOTATION: guest.title}
    return {"metadata": {"name": name, "labels": _build_labels(spec), "annotations": annotations}, "spec": spec}


def _build_labels(spec: Mapping[str, Any]) -> dict[str, str]:
    labels = {"os-type": spec["annotations"][GUEST_OS_ANNOTATION], "vendor": "kubevirt.io"}
    if preferred := spec.get("preferredArchitecture"):
        labels |= {"arch": preferred, "preferred-architecture": preferred}
    for requirement, least in spec.get("requirements", {}).items():
        labels[f"required-{requirement}"] = least if isinstance(least, str) else str(least["guest"])
    return {f"instancetype.kubevirt.io/{key}": value for key, value in labels.items()}

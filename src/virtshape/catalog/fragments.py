"""Fragments of the specs in the catalog: mappings with JSON field names, which are merged and never modified."""

from collections.abc import Mapping
from typing import Any

from virtshape.api.model import JsonObject
from virtshape.api.wellknown import GUEST_OS_ANNOTATION

Fragment = Mapping[str, Any]


def merge(*fragments: Fragment) -> JsonObject:
    """Return one tree that combines the fragments; if several set a field, the last fragment takes precedence."""
    merged: JsonObject = {}
    for fragment in fragments:
        for key, value in fragment.items():
            before = merged.get(key)
            merged[key] = merge(before, value) if isinstance(before, Mapping) else value
    return merged


def gives(vcpus: int, memory: str) -> Fragment:
    """Return a fragment that sets vCPUs and memory."""
    return {"cpu": {"guest": vcpus}, "memory": {"guest": memory}}


def allows(
    vcpus: tuple[int, int], memory_per_vcpu: tuple[str, str], *, vcpu_step: int = 1, memory_step: str
) -> Fragment:
    """Return a fragment that limits the sizes of VMs: minimum and maximum vCPUs, and memory per vCPU."""
    (fewest, most_vcpus), (least, most_memory) = vcpus, memory_per_vcpu
    step = {"step": vcpu_step} if vcpu_step > 1 else {}
    return {
        "cpu": {"limits": {"min": fewest, "max": most_vcpus, **step}},
        "memory": {"limits": {"step": memory_step, "perVCPU": {"min": least, "max": most_memory}}},
    }


def hugepages(page_size: str) -> Fragment:
    """Return a fragment that backs memory with huge pages."""
    return {"memory": {"hugepages": {"pageSize": page_size}}}


def overcommit(percent: int) -> Fragment:
    """Return a fragment that reduces the memory request by this percentage of the guest's memory."""
    return {"memory": {"overcommitPercent": percent}}


DEDICATED_CPUS: Fragment = {"cpu": {"dedicatedCPUPlacement": True, "isolateEmulatorThread": True}}
HOST_NUMA: Fragment = {"cpu": {"numa": {"guestMappingPassthrough": {}}}}
REALTIME: Fragment = {"cpu": {"realtime": {}}}
SHARED_IO_THREADS: Fragment = {"ioThreadsPolicy": "auto"}
QUIET_CPUS: Fragment = {
    "annotations": {
        "cpu-load-balancing.crio.io": "disable",
        "cpu-quota.crio.io": "disable",
        "irq-load-balancing.crio.io": "disable",
    }
}


def needs(vcpus: int, memory: str) -> Fragment:
    """Return a fragment that requires at least these vCPUs and this memory."""
    return {"requirements": {"cpu": {"guest": vcpus}, "memory": {"guest": memory}}}


def architecture(name: str) -> Fragment:
    """Return a fragment that prefers and requires this architecture."""
    return {"preferredArchitecture": name, "requirements": {"architecture": name}}


def topology(layout: str) -> Fragment:
    """Return a fragment that prefers this CPU topology, such as `cores`."""
    return {"cpu": {"preferredCPUTopology": layout}}


def spread_over_threads(ratio: int | None = None) -> Fragment:
    """Return a fragment that spreads vCPUs over sockets, cores and threads; None means the default ratio."""
    options = {"across": "SocketsCoresThreads"} | ({"ratio": ratio} if ratio else {})
    return merge(topology("spread"), {"cpu": {"spreadOptions": options}})


def guest_os(family: str) -> Fragment:
    """Return a fragment that annotates the guest with its operating system family."""
    return {"annotations": {GUEST_OS_ANNOTATION: family}}


def buses(disk: str, interface: str) -> Fragment:
    """Return a fragment that prefers this disk bus and this interface model."""
    return {"devices": {"preferredDiskBus": disk, "preferredInterfaceModel": interface}}


AMD64 = architecture("amd64")
ARM64 = architecture("arm64")
S390X = architecture("s390x")

VIRTIO = buses("virtio", "virtio")
RNG: Fragment = {"devices": {"preferredRng": {}}}
DISK_IO_THREAD: Fragment = {"devices": {"preferredDiskDedicatedIoThread": True}}
MULTI_QUEUE: Fragment = {"devices": {"preferredNetworkInterfaceMultiQueue": True}}
TRANSITIONAL: Fragment = {"devices": {"preferredUseVirtioTransitional": True}}
INPUT: Fragment = {"devices": {"preferredAutoattachInputDevice": True}}
TABLET = merge(INPUT, {"devices": {"preferredInputBus": "virtio", "preferredInputType": "tablet"}})
VIRTIO_VIDEO: Fragment = {"devices": {"preferredVideoType": "virtio"}}
HEADLESS: Fragment = {
    "devices": {
        "preferredAutoattachGraphicsDevice": False,
        "preferredAutoattachMemBalloon": False,
        "preferredAutoattachSerialConsole": True,
    }
}

EFI: Fragment = {"firmware": {"preferredEfi": {"secureBoot": False}}}
SECURE_BOOT: Fragment = {"features": {"preferredSmm": {}}, "firmware": {"preferredEfi": {"secureBoot": True}}}
SECURE_EXECUTION: Fragment = {"preferredLaunchSecurity": {}}
TPM: Fragment = {
    "devices": {"preferredTPM": {"persistent": True}},
    "firmware": {"preferredEfi": {"persistent": True}},
}
NO_PCI_HOLE: Fragment = {"annotations": {"kubevirt.io/disablePCIHole64": "true"}}

LINUX = merge(guest_os("linux"), VIRTIO, RNG)
DPDK = merge(spread_over_threads(ratio=4), MULTI_QUEUE)

HYPERV: Fragment = {
    "frequencies": {},
    "ipi": {},
    "reenlightenment": {},
    "relaxed": {},
    "reset": {},
    "runtime": {},
    "spinlocks": {"spinlocks": 8191},
    "synic": {},
    "synictimer": {"direct": {}},
    "tlbflush": {},
    "vapic": {},
    "vpindex": {},
}
WINDOWS = merge(
    guest_os("windows"),
    INPUT,
    {
        "clock": {
            "preferredClockOffset": {"utc": {}},
            "preferredTimer": {
                "hpet": {"present": False},
                "hyperv": {},
                "pit": {"tickPolicy": "delay"},
                "rtc": {"tickPolicy": "catchup"},
            },
        },
        "features": {"preferredAcpi": {}, "preferredApic": {}, "preferredHyperv": HYPERV},
        "preferredTerminationGracePeriodSeconds": 3600,
    },
)

"""
The catalog's instance types: each series has a table of sizes, and fragments that all its sizes share.

Every series except u1 also has a size `custom`, which leaves vCPUs and memory to the VM, within limits.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from virtshape.api.model import JsonObject
from virtshape.api.wellknown import DISPLAY_NAME_ANNOTATION
from virtshape.catalog.fragments import (
    DEDICATED_CPUS,
    HOST_NUMA,
    QUIET_CPUS,
    REALTIME,
    SHARED_IO_THREADS,
    Fragment,
    allows,
    gives,
    hugepages,
    merge,
    overcommit,
)

_CUSTOM = "custom"
_CUSTOM_NOTE = " The VM sets its own vCPUs and memory, within limits."

# The value of the label `common-instancetypes-version` on custom sizes.
_CUSTOM_SINCE = "v1.2.0"

_LABELLED_CPU_PARTS = ("dedicatedCPUPlacement", "isolateEmulatorThread", "numa", "realtime")


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """A series of instance types: their common properties, and their sizes."""

    title: str
    description: str
    workload: str
    """The value of the label `class`."""
    icon: str
    sizes: Mapping[str, tuple[int, str]]
    """The number of vCPUs and the memory of each size."""
    shape: tuple[Fragment, ...] = ()
    page_sizes: tuple[str, ...] = ()
    """Available huge page sizes; all but the first are appended to the name of the size, as in `large1gi`."""
    spare_sockets: bool = True
    """True if VMs may have empty sockets for CPU hotplug."""
    custom: Fragment | None = None
    """The limits of the size `custom`; None if the series has no such size."""


_UNIVERSAL_SIZES = {
    "nano": (1, "512Mi"),
    "micro": (1, "1Gi"),
    "small": (1, "2Gi"),
    "medium": (1, "4Gi"),
    "2xmedium": (2, "4Gi"),
    "large": (2, "8Gi"),
    "xlarge": (4, "16Gi"),
    "2xlarge": (8, "32Gi"),
    "4xlarge": (16, "64Gi"),
    "8xlarge": (32, "128Gi"),
}

_UNIVERSAL_LIMITS = allows((1, 32), ("512Mi", "16Gi"), memory_step="512Mi")


def _without(sizes: Mapping[str, tuple[int, str]], *left_out: str) -> dict[str, tuple[int, str]]:
    return {name: figures for name, figures in sizes.items() if name not in left_out}


SERIES = {
    "u1": Series(
        title="Universal",
        description="Shared CPUs and regular memory. The right choice for workloads without special needs.",
        workload="general.purpose",
        icon="pficon-server-group",
        sizes=_UNIVERSAL_SIZES,
    ),
    "o1": Series(
        title="Overcommitted memory",
        description="Like the universal series, but the node reserves less memory than the guest sees. "
        "For many VMs that are rarely busy at the same time.",
        workload="overcommitted",
        icon="pficon-virtual-machine",
        shape=(overcommit(50),),
        sizes=_without(_UNIVERSAL_SIZES, "2xmedium"),
        custom=_UNIVERSAL_LIMITS,
    ),
    "d1": Series(
        title="Dedicated CPUs",
        description="Like the universal series, but on physical CPUs that no other VM uses, "
        "for predictable performance. Nodes need the CPU manager.",
        workload="dedicated.vcpu",
        icon="pficon-server-group",
        shape=(DEDICATED_CPUS, SHARED_IO_THREADS),
        sizes=_UNIVERSAL_SIZES,
        custom=_UNIVERSAL_LIMITS,
    ),
    "cx1": Series(
        title="Compute with exclusive CPUs",
        description="For compute-intensive workloads: dedicated physical CPUs, the node's NUMA layout visible "
        "in the guest, huge pages, and I/O threads on additional CPUs. The fixed sizes have no empty sockets "
        "for CPU hotplug, since a node might not have enough CPUs. Nodes need the CPU manager and huge pages.",
        workload="compute.exclusive",
        icon="pficon-registry",
        shape=(DEDICATED_CPUS, HOST_NUMA, SHARED_IO_THREADS),
        page_sizes=("2Mi", "1Gi"),
        spare_sockets=False,
        sizes={
            "medium": (1, "2Gi"),
            "large": (2, "4Gi"),
            "xlarge": (4, "8Gi"),
            "2xlarge": (8, "16Gi"),
            "4xlarge": (16, "32Gi"),
            "8xlarge": (32, "64Gi"),
        },
        custom=allows((1, 32), ("1Gi", "4Gi"), memory_step="512Mi"),
    ),
    "m1": Series(
        title="Memory heavy",
        description="High memory per vCPU (8 GiB in the fixed sizes), backed by huge pages. For databases and caches. "
        "Nodes need huge pages.",
        workload="memory.intensive",
        icon="fa-memory",
        page_sizes=("2Mi", "1Gi"),
        sizes={
            "large": (2, "16Gi"),
            "xlarge": (4, "32Gi"),
            "2xlarge": (8, "64Gi"),
            "4xlarge": (16, "128Gi"),
            "8xlarge": (32, "256Gi"),
        },
        custom=allows((1, 32), ("4Gi", "16Gi"), memory_step="1Gi"),
    ),
    "n1": Series(
        title="Network functions",
        description="For guests that process packets themselves, for example with DPDK: dedicated physical CPUs that "
        "the node neither interrupts nor throttles, and huge pages. Nodes must be configured for this.",
        workload="network",
        icon="pficon-network",
        shape=(DEDICATED_CPUS, QUIET_CPUS),
        page_sizes=("1Gi",),
        sizes={
            "medium": (4, "4Gi"),
            "large": (4, "8Gi"),
            "xlarge": (8, "16Gi"),
            "2xlarge": (16, "32Gi"),
            "4xlarge": (32, "64Gi"),
            "8xlarge": (64, "128Gi"),
        },
        custom=allows((2, 64), ("1Gi", "4Gi"), vcpu_step=2, memory_step="1Gi"),
    ),
    "rt1": Series(
        title="Real time",
        description="For real-time workloads: dedicated physical CPUs that run at real-time priority, the node's NUMA "
        "layout, and huge pages. Nodes must run a real-time kernel.",
        workload="realtime",
        icon="pficon-server-group",
        shape=(DEDICATED_CPUS, HOST_NUMA, REALTIME, QUIET_CPUS),
        page_sizes=("1Gi",),
        sizes=_without(_UNIVERSAL_SIZES, "nano", "2xmedium"),
        custom=allows((1, 32), ("1Gi", "8Gi"), memory_step="1Gi"),
    ),
}


def names() -> list[str]:
    """Return the names of all instance types."""
    return [f"{prefix}.{size}" for prefix, series in SERIES.items() for size in list_sizes(series)]


def list_sizes(series: Series) -> list[str]:
    """Return the names of the sizes in a series, with `custom` last."""
    suffixes = ("", *(page_size.lower() for page_size in series.page_sizes[1:]))
    sizes = [size + suffix for size in series.sizes for suffix in suffixes]
    return [*sizes, _CUSTOM] if series.custom else sizes


def is_custom(name: str) -> bool:
    """Return True if the instance type with this name leaves its size to the VM."""
    return name.endswith(f".{_CUSTOM}")


def describe(name: str) -> JsonObject:
    """Return the metadata and the spec of an instance type."""
    prefix, size = name.split(".")
    series = SERIES[prefix]
    spec = _build_spec(series, size)
    annotations = {
        DISPLAY_NAME_ANNOTATION: series.title,
        "instancetype.kubevirt.io/description": series.description + (_CUSTOM_NOTE if size == _CUSTOM else ""),
    }
    labels = _build_labels(series, size, spec)
    return {"metadata": {"name": name, "labels": labels, "annotations": annotations}, "spec": spec}


def _build_spec(series: Series, size: str) -> JsonObject:
    fragments = [*series.shape]
    page_size = next((each for each in series.page_sizes[1:] if size.endswith(each.lower())), None)
    if page_size:
        size = size.removesuffix(page_size.lower())
    if series.page_sizes:
        fragments.append(hugepages(page_size or series.page_sizes[0]))
    if size == _CUSTOM:
        fragments.append(series.custom or {})
    else:
        vcpus, memory = series.sizes[size]
        fragments.append(gives(vcpus, memory))
        if not series.spare_sockets:
            fragments.append({"cpu": {"maxSockets": vcpus}})
    return merge(*fragments)


def _build_labels(series: Series, size: str, spec: Mapping[str, Any]) -> dict[str, str]:
    cpu, memory = spec.get("cpu", {}), spec.get("memory", {})
    labels = {
        "class": series.workload,
        "cpu": str(cpu.get("guest", _CUSTOM)),
        "memory": memory.get("guest", _CUSTOM),
        "size": size,
        "icon-pf": series.icon,
        "vendor": "kubevirt.io",
        "version": "1",
    }
    labels |= {part: "true" for part in _LABELLED_CPU_PARTS if part in cpu}
    if "hugepages" in memory:
        labels["hugepages"] = memory["hugepages"]["pageSize"]
    if size == _CUSTOM:
        labels["common-instancetypes-version"] = _CUSTOM_SINCE
    return {f"instancetype.kubevirt.io/{key}": value for key, value in labels.items()}

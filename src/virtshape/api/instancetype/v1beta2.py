"""
Structs of instancetype.kubevirt.io/v1beta2, the stored version.

An instance type may leave vCPUs, memory or both to the VM. Admission rejects combinations of exclusive fields.
"""

from msgspec import field

from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.kubevirt.devices import GPU, HostDevice
from virtshape.api.kubevirt.domain import NUMA, CPUTopology, DiskIOThreads, Hugepages, LaunchSecurity, Realtime
from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Int32, Model, UInt32
from virtshape.api.quantity import Quantity


class VirtualMachineClusterPreference(KubernetesObject, kw_only=True):
    """A cluster-wide preference: default values for guests."""

    api_version: str
    """The group instancetype.kubevirt.io and a version of this group."""
    kind: str
    """The kind of this object: VirtualMachineClusterPreference."""
    metadata: Metadata = NO_METADATA
    """Name, labels and annotations."""
    spec: VirtualMachinePreferenceSpec
    """Default values for the guest."""


class VirtualMachinePreference(KubernetesObject, kw_only=True):
    """A preference in a namespace: default values for guests."""

    api_version: str
    """The group instancetype.kubevirt.io and a version of this group."""
    kind: str
    """The kind of this object: VirtualMachinePreference."""
    metadata: Metadata = NO_METADATA
    """Name, namespace, labels and annotations."""
    spec: VirtualMachinePreferenceSpec
    """Default values for the guest."""


class CPULimits(Model):
    """The vCPUs that a VM may ask for; an extension to KubeVirt's API, which KubeVirt ignores."""

    min: UInt32 | None = None
    """Minimum number of vCPUs, at least 1; the step if absent, or 1 if the step is absent too."""
    max: UInt32 | None = None
    """Maximum number of vCPUs; no maximum if absent."""
    step: UInt32 | None = None
    """Distance between allowed numbers, counted from min; 1 if absent."""


class MemoryPerVCPU(Model):
    """The memory that a VM may ask for, per vCPU."""

    min: Quantity | None = None
    """Minimum memory for each vCPU, such as 1Gi; no minimum if absent."""
    max: Quantity | None = None
    """Maximum memory for each vCPU; no maximum if absent."""


class MemoryLimits(Model):
    """The memory that a VM may ask for; an extension to KubeVirt's API, which KubeVirt ignores."""

    min: Quantity | None = None
    """Minimum memory; the step if absent, or no minimum if the step is absent too."""
    max: Quantity | None = None
    """Maximum memory; no maximum if absent."""
    step: Quantity | None = None
    """Distance between allowed sizes, counted from min; if absent, the page size of hugepages, or else 1 byte."""
    per_vcpu: MemoryPerVCPU | None = field(default=None, name="perVCPU")
    """Limits on the memory for each vCPU, in addition to min, max and step."""


class CPUInstancetype(Model):
    """The vCPUs of an instance type; a VM that uses it cannot set the same fields."""

    guest: UInt32 | None = None
    """Number of vCPUs, at least 1, laid out by the preference or else as sockets; mutually exclusive with topology."""
    topology: CPUTopology | None = None
    """Exact sockets, cores and threads, which override the preference; mutually exclusive with guest."""
    limits: CPULimits | None = None
    """The numbers of vCPUs that a VM may ask for; mutually exclusive with guest and topology."""
    max_sockets: UInt32 | None = None
    """Maximum sockets of the running guest; overrides the VM's value."""
    model: str | None = None
    """CPU model in the guest: host-model, host-passthrough or a libvirt name such as Skylake-Server."""
    dedicated_cpu_placement: bool | None = field(default=None, name="dedicatedCPUPlacement")
    """Set to true to pin each vCPU to a dedicated host CPU; needs a node with a static CPU manager."""
    isolate_emulator_thread: bool | None = None
    """Set to true to run QEMU's emulator thread on an additional dedicated CPU; needs dedicatedCPUPlacement."""
    numa: NUMA | None = None
    """NUMA nodes of the guest; needs dedicatedCPUPlacement and hugepages."""
    realtime: Realtime | None = None
    """Settings that tune the vCPUs for low latency; needs dedicatedCPUPlacement and numa."""


class MemoryInstancetype(Model, kw_only=True):
    """The memory of an instance type."""

    guest: Quantity | None = None
    """Memory that the guest sees, such as 4Gi; if absent, the VM sets domain.memory.guest."""
    limits: MemoryLimits | None = None
    """The memory sizes that a VM may ask for; mutually exclusive with guest."""
    max_guest: Quantity | None = None
    """Maximum memory of the running guest; not below guest."""
    hugepages: Hugepages | None = None
    """Huge pages of the node that back the guest's memory; mutually exclusive with overcommitPercent."""
    overcommit_percent: Int32 | None = None
    """Percentage of memory that the VM does not request, 0 (default) to 100; with 20, a 10Gi guest requests 8Gi."""


class VirtualMachineInstancetypeSpec(Model, kw_only=True):
    """vCPUs, memory and devices of VMs with this instance type; a VM that sets one of these fields is rejected."""

    cpu: CPUInstancetype | None = None
    """The vCPUs; without guest and topology, the VM sets domain.cpu.guest or gets one vCPU."""
    memory: MemoryInstancetype | None = None
    """The guest's memory; without guest, the VM sets domain.memory.guest."""
    gpus: list[GPU] | None = None
    """GPUs and vGPUs to pass through."""
    host_devices: list[HostDevice] | None = None
    """Other devices of the node to pass through."""
    io_threads_policy: str | None = None
    """Threads for disk I/O: shared (one for all), auto (a pool sized by vCPUs) or supplementalPool (see ioThreads)."""
    io_threads: DiskIOThreads | None = None
    """Size of the I/O thread pool; needs the policy supplementalPool."""
    launch_security: LaunchSecurity | None = None
    """Memory encryption: one of sev, snp and tdx. Deprecated: set it in the preference."""
    node_selector: dict[str, str] | None = None
    """Labels that a node must have to run the VM."""
    scheduler_name: str | None = None
    """Scheduler of the VM; the cluster's default if absent."""
    annotations: dict[str, str] | None = None
    """Annotations for the running instance; a VM that sets a key to another value is rejected."""


class VirtualMachineClusterInstancetype(KubernetesObject, kw_only=True):
    """A cluster-wide instance type: vCPUs, memory and devices of VMs."""

    api_version: str
    """The group instancetype.kubevirt.io and a version of this group."""
    kind: str
    """The kind of this object: VirtualMachineClusterInstancetype."""
    metadata: Metadata = NO_METADATA
    """Name, labels and annotations."""
    spec: VirtualMachineInstancetypeSpec
    """vCPUs, memory and devices of VMs with this instance type."""


class VirtualMachineInstancetype(KubernetesObject, kw_only=True):
    """An instance type in a namespace: vCPUs, memory and devices of VMs."""

    api_version: str
    """The group instancetype.kubevirt.io and a version of this group."""
    kind: str
    """The kind of this object: VirtualMachineInstancetype."""
    metadata: Metadata = NO_METADATA
    """Name, namespace, labels and annotations."""
    spec: VirtualMachineInstancetypeSpec
    """vCPUs, memory and devices of VMs with this instance type."""

"""
Structs of instancetype.kubevirt.io/v1beta2, the stored version.

An instance type may leave vCPUs, memory or both to the VM. Admission checks fields that exclude each other.
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
    """instancetype.kubevirt.io and a version."""
    kind: str
    """Always VirtualMachineClusterPreference."""
    metadata: Metadata = NO_METADATA
    """Name, labels and annotations."""
    spec: VirtualMachinePreferenceSpec
    """Default values for the guest."""


class VirtualMachinePreference(KubernetesObject, kw_only=True):
    """A preference in a namespace: default values for guests."""

    api_version: str
    """instancetype.kubevirt.io and a version."""
    kind: str
    """Always VirtualMachinePreference."""
    metadata: Metadata = NO_METADATA
    """Name, namespace, labels and annotations."""
    spec: VirtualMachinePreferenceSpec
    """Default values for the guest."""


class CPUInstancetype(Model):
    """The vCPUs of an instance type; a VM that uses it cannot set the same fields."""

    guest: UInt32 | None = None
    """Number of vCPUs, at least 1, distributed as the preference says, otherwise as sockets; excludes topology."""
    topology: CPUTopology | None = None
    """Exact sockets, cores and threads of the guest; overrides the preference; excludes guest."""
    max_sockets: UInt32 | None = None
    """Maximum sockets of the running guest; overrides the VM's value."""
    model: str | None = None
    """CPU model in the guest: host-model, host-passthrough or a libvirt name such as Skylake-Server."""
    dedicated_cpu_placement: bool | None = field(default=None, name="dedicatedCPUPlacement")
    """Set true to pin each vCPU to a dedicated host CPU; needs a node with a static CPU manager."""
    isolate_emulator_thread: bool | None = None
    """Set true to run QEMU's emulator thread on an additional dedicated CPU; needs dedicatedCPUPlacement."""
    numa: NUMA | None = None
    """NUMA nodes of the guest; needs dedicatedCPUPlacement and hugepages."""
    realtime: Realtime | None = None
    """Tune the vCPUs for low latency; needs dedicatedCPUPlacement and numa."""


class MemoryInstancetype(Model, kw_only=True):
    """The memory of an instance type."""

    guest: Quantity | None = None
    """Memory that the guest sees, such as 4Gi; if absent, the VM sets domain.memory.guest."""
    max_guest: Quantity | None = None
    """Maximum memory of the running guest; at least guest."""
    hugepages: Hugepages | None = None
    """Back the guest's memory with huge pages of the node; excludes overcommitPercent."""
    overcommit_percent: Int32 | None = None
    """Percentage of guest memory that the node does not reserve, 0 (default) to 100; with 20, 10Gi requests 8Gi."""


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
    """Threads for disk I/O: shared (one for all), auto (a pool by vCPUs) or supplementalPool (see ioThreads)."""
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
    """instancetype.kubevirt.io and a version."""
    kind: str
    """Always VirtualMachineClusterInstancetype."""
    metadata: Metadata = NO_METADATA
    """Name, labels and annotations."""
    spec: VirtualMachineInstancetypeSpec
    """vCPUs, memory and devices of VMs with this instance type."""


class VirtualMachineInstancetype(KubernetesObject, kw_only=True):
    """An instance type in a namespace: vCPUs, memory and devices of VMs."""

    api_version: str
    """instancetype.kubevirt.io and a version."""
    kind: str
    """Always VirtualMachineInstancetype."""
    metadata: Metadata = NO_METADATA
    """Name, namespace, labels and annotations."""
    spec: VirtualMachineInstancetypeSpec
    """vCPUs, memory and devices of VMs with this instance type."""

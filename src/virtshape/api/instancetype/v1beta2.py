from msgspec import field

from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.kubevirt.devices import GPU, HostDevice
from virtshape.api.kubevirt.domain import NUMA, CPUTopology, DiskIOThreads, Hugepages, LaunchSecurity, Realtime
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Int32, Model, UInt32
from virtshape.api.quantity import Quantity


class VirtualMachineClusterPreference(Model, kw_only=True):
    api_version: str
    kind: str
    metadata: ObjectMeta | None = None
    spec: VirtualMachinePreferenceSpec


class VirtualMachinePreference(Model, kw_only=True):
    api_version: str
    kind: str
    metadata: ObjectMeta | None = None
    spec: VirtualMachinePreferenceSpec


class CPUInstancetype(Model):
    guest: UInt32 | None = None
    topology: CPUTopology | None = None
    dedicated_cpu_placement: bool | None = field(default=None, name="dedicatedCPUPlacement")
    isolate_emulator_thread: bool | None = None
    max_sockets: UInt32 | None = None
    model: str | None = None
    numa: NUMA | None = None
    realtime: Realtime | None = None


class MemoryInstancetype(Model):
    guest: Quantity | None = None
    hugepages: Hugepages | None = None
    max_guest: Quantity | None = None
    overcommit_percent: Int32 | None = None


class VirtualMachineInstancetypeSpec(Model):
    cpu: CPUInstancetype | None = None
    memory: MemoryInstancetype | None = None
    annotations: dict[str, str] | None = None
    gpus: list[GPU] | None = None
    host_devices: list[HostDevice] | None = None
    io_threads: DiskIOThreads | None = None
    io_threads_policy: str | None = None
    launch_security: LaunchSecurity | None = None
    node_selector: dict[str, str] | None = None
    scheduler_name: str | None = None


class VirtualMachineClusterInstancetype(Model, kw_only=True):
    api_version: str
    kind: str
    metadata: ObjectMeta | None = None
    spec: VirtualMachineInstancetypeSpec


class VirtualMachineInstancetype(Model, kw_only=True):
    api_version: str
    kind: str
    metadata: ObjectMeta | None = None
    spec: VirtualMachineInstancetypeSpec

"""Design all devices of a domain; refuse device tags if there is a config drive."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from virtshape.api.kubevirt.devices import GPU, Disk, HostDevice
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.network import Interface
from virtshape.launcher.design.context import DEVICES, DesignContext
from virtshape.launcher.design.devices.console import design_channels, design_redirections, design_serials
from virtshape.launcher.design.devices.controllers import design_controllers, design_ports
from virtshape.launcher.design.devices.disks import design_disks, design_filesystems
from virtshape.launcher.design.devices.graphics import design_graphics, design_inputs, design_sound, design_video
from virtshape.launcher.design.devices.hostdevices import design_host_devices
from virtshape.launcher.design.devices.interfaces import design_interfaces
from virtshape.launcher.design.devices.iothreads import design_threads
from virtshape.launcher.design.devices.platform import (
    design_balloon,
    design_panics,
    design_rng,
    design_tpm,
    design_vsock,
    design_watchdog,
)
from virtshape.launcher.domain.devices.devices import Devices
from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.host import Host
from virtshape.launcher.report import Note, Refusal

_Tagged = Disk | Interface | GPU | HostDevice


class DeviceDesign(Struct, frozen=True, kw_only=True):
    """The devices of a domain, and the I/O threads and shared memory that they require."""

    devices: Devices
    io_threads: int = 0
    """Number of I/O threads."""
    shared_memory: bool = False
    """Whether other processes must be able to map the guest's memory."""
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Note, ...] = ()


def design_devices(
    vmi: VirtualMachineInstance, host: Host, sources: Mapping[str, Source], directory: str
) -> DeviceDesign:
    """Design all devices; `directory` contains the guest's sockets and logs."""
    context = DesignContext(vmi=vmi, host=host, sources=sources, directory=directory)
    threads = design_threads(context)
    devices = Devices(
        emulator=host.emulator,
        disks=design_disks(context, threads),
        filesystems=design_filesystems(context),
        interfaces=design_interfaces(context),
        serials=design_serials(context),
        channels=design_channels(context),
        inputs=design_inputs(context),
        tpm=design_tpm(context),
        graphics=design_graphics(context),
        sound=design_sound(context),
        video=design_video(context),
        host_devices=design_host_devices(context),
        redirections=design_redirections(context),
        watchdog=design_watchdog(context),
        balloon=design_balloon(context),
        rng=design_rng(context),
        panics=design_panics(context),
        vsock=design_vsock(context),
    )
    devices = replace(devices, controllers=design_controllers(context, devices, threads))
    devices = replace(devices, controllers=(*devices.controllers, *design_ports(context, devices)))
    refuse_tags(context)
    return DeviceDesign(
        devices=devices,
        io_threads=threads.total,
        shared_memory=bool(devices.filesystems),
        refusals=tuple(context.refusals),
        notes=tuple(context.notes),
    )


def refuse_tags(context: DesignContext) -> None:
    """Refuse device tags if there is a config drive; without one, tags have no effect."""
    if all(volume.cloud_init_config_drive is None for volume in context.spec.volumes or ()):
        return
    devices = context.devices
    families: dict[str, Sequence[_Tagged]] = {
        "disks": devices.disks or (),
        "interfaces": devices.interfaces or (),
        "gpus": devices.gpus or (),
        "hostDevices": devices.host_devices or (),
    }
    for family, items in families.items():
        for index, item in enumerate(items):
            if item.tag:
                reason = "is not supported: the config drive is written before device addresses are known"
                context.refuse(f"{DEVICES}.{family}[{index}].tag", reason)

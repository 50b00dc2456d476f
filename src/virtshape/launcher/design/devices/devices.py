"""Design all devices of a domain."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.design.devices.controllers import design_controllers
from virtshape.launcher.design.devices.disks import design_disks
from virtshape.launcher.design.devices.filesystems import design_filesystems
from virtshape.launcher.design.devices.hostdevices import design_host_devices
from virtshape.launcher.design.devices.interfaces import design_interfaces
from virtshape.launcher.design.devices.lines import design_channels, design_redirections, design_serials
from virtshape.launcher.design.devices.platform import (
    design_balloon,
    design_panics,
    design_rng,
    design_tpm,
    design_vsock,
    design_watchdog,
)
from virtshape.launcher.design.devices.ports import design_ports
from virtshape.launcher.design.devices.screen import design_graphics, design_inputs, design_sound, design_video
from virtshape.launcher.design.devices.tags import refuse_tags
from virtshape.launcher.design.devices.threads import design_threads
from virtshape.launcher.domain.devices.devices import Devices
from virtshape.launcher.host import Host
from virtshape.launcher.note import Note
from virtshape.launcher.refusal import Refusal
from virtshape.launcher.source import Source


class DeviceDesign(Struct, frozen=True, kw_only=True):
    """The devices of a domain, and what they need from the rest of it."""

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
    """Design all devices; `directory` holds the guest's sockets and logs."""
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

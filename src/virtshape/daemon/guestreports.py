"""Translate launcher reports into the guest state that the controllers use, on this machine and on clusters."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.status import (
    VirtualMachineInstanceGuestOSInfo,
    VirtualMachineInstanceNetworkInterface,
    VolumeStatus,
)
from virtshape.controllers.vmi.gueststatus import GuestState, GuestStatus
from virtshape.controllers.vmi.volumehotplugstatus import VolumeProblem, describe_hotplugged
from virtshape.launcher.report import GuestOs, Interface, OpenPort, Report, Volume

LOOPBACK: Final = "127.0.0.1"


def read_report(
    report: Report,
    vmi: VirtualMachineInstance,
    resize_error: str = "",
    problems: Mapping[str, VolumeProblem] | None = None,
    *,
    address: str = LOOPBACK,
) -> GuestStatus:
    """
    Return the state of an instance's guest.

    `resize_error` is the reason why the guest could not be resized; `problems` are the reasons why volumes are not
    attached or detached yet; `address` is the address at which the guest's ports are open.
    """
    cpu, memory = vmi.spec.domain.cpu, vmi.spec.domain.memory
    fits = report.state in ("running", "paused") and not resize_error
    sized = CPUTopology(sockets=cpu.sockets, cores=cpu.cores, threads=cpu.threads) if cpu is not None else None
    return GuestStatus(
        _read_state(report),
        _explain(report),
        report.reason,
        substitutions=tuple(f"{note.field}: {note.text}" for note in report.notes),
        machine=report.machine,
        topology=sized if fits else None,
        memory=memory.guest if fits and memory is not None else None,
        resize_error=resize_error,
        interfaces=tuple(_read_interface(one) for one in report.interfaces),
        volumes=tuple(_read_volumes(report, vmi, problems or {})),
        is_settled=not problems,
        ports=() if report.final else tuple(_describe_port(one, address) for one in report.ports),
        agent=report.agent,
        os=read_os(report.os) if report.os is not None else None,
        logins=report.logins,
        unready="" if report.final else report.unready,
        unresponsive="" if report.final else report.unresponsive,
    )


def _read_state(report: Report) -> GuestState:
    """Return the guest's state; a guest that this machine cannot run is `refused`, not `failed`."""
    return "refused" if report.state == "failed" and report.reason == "NotPossibleHere" else report.state


def _explain(report: Report) -> str:
    if report.refusals:
        return "; ".join(f"{refusal.field}: {refusal.reason}" for refusal in report.refusals)
    return report.unresponsive if report.state == "starting" else report.message


def _read_interface(found: Interface) -> VirtualMachineInstanceNetworkInterface:
    return VirtualMachineInstanceNetworkInterface(
        name=found.name or None,
        interface_name=found.guest_name or None,
        mac=found.mac or None,
        ip_address=found.addresses[0] if found.addresses else None,
        ip_addresses=list(found.addresses) or None,
        link_state="up" if found.link_up else "down",
        queue_count=found.queues,
        info_source="domain, guest-agent" if found.from_agent and found.name else _origin(found),
    )


def _origin(found: Interface) -> str:
    return "guest-agent" if found.from_agent else "domain"


def _read_volumes(
    report: Report, vmi: VirtualMachineInstance, problems: Mapping[str, VolumeProblem]
) -> Iterator[VolumeStatus]:
    """Yield the disks of the guest, and hotplugged volumes with their phase."""
    if report.state not in ("running", "paused"):
        yield from (_read_volume(one) for one in report.volumes)
        return
    targets = {one.name: one.target for one in report.volumes}
    hotplugged = {one.name: one for one in describe_hotplugged(vmi, targets, problems)}
    for found in report.volumes:
        plugged = hotplugged.pop(found.name, None)
        yield replace(plugged, size=found.size or None) if plugged is not None else _read_volume(found)
    yield from hotplugged.values()


def _read_volume(found: Volume) -> VolumeStatus:
    return VolumeStatus(found.name, found.target, size=found.size or None)


def _describe_port(found: OpenPort, address: str) -> str:
    shown = f"[{address}]" if ":" in address else address
    return f"{found.protocol} {found.port} of {found.interface} is {shown}:{found.here}"


def read_os(found: GuestOs) -> VirtualMachineInstanceGuestOSInfo:
    """Return the guest's operating system information."""
    return VirtualMachineInstanceGuestOSInfo(
        name=found.name or None,
        id=found.id or None,
        pretty_name=found.pretty_name or None,
        version=found.version or None,
        version_id=found.version_id or None,
        kernel_release=found.kernel_release or None,
        kernel_version=found.kernel_version or None,
        machine=found.machine or None,
    )

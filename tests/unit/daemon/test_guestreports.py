"""Conversion of launcher reports to guest status."""

import pytest
from tests.support.instances import build_vmi

from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.kubevirt.status import (
    VirtualMachineInstanceGuestOSInfo,
    VirtualMachineInstanceNetworkInterface,
    VolumeStatus,
)
from virtshape.api.quantity import Quantity
from virtshape.controllers.vmi.gueststatus import GuestStatus
from virtshape.daemon.guestreports import read_report
from virtshape.launcher.report import GuestOs, Interface, Note, OpenPort, Refusal, Report, Volume

SIZED = build_vmi("Running", domain={"cpu": {"sockets": 2, "cores": 1, "threads": 1}, "memory": {"guest": "1Gi"}})
HAS = {"topology": CPUTopology(sockets=2, cores=1, threads=1), "memory": Quantity("1Gi")}

REPORTS: dict[str, tuple[Report, GuestStatus]] = {
    "starting": (Report(), GuestStatus("starting")),
    "running": (
        Report(state="running", machine="pc-q35-7.2"),
        GuestStatus("running", machine="pc-q35-7.2", **HAS),  # type: ignore[arg-type]
    ),
    "paused by the user": (
        Report(state="paused", reason="PausedByUser"),
        GuestStatus("paused", reason="PausedByUser", **HAS),  # type: ignore[arg-type]
    ),
    "running and not ready": (
        Report(state="running", unready="no answer"),
        GuestStatus("running", unready="no answer", **HAS),  # type: ignore[arg-type]
    ),
    "QEMU does not respond": (
        Report(state="running", unresponsive="no answer"),
        GuestStatus("running", unresponsive="no answer", **HAS),  # type: ignore[arg-type]
    ),
    "QEMU does not respond while it starts": (
        Report(unresponsive="no answer"),
        GuestStatus("starting", "no answer", unresponsive="no answer"),
    ),
    "refused": (
        Report(
            state="failed",
            reason="NotPossibleHere",
            refusals=(Refusal("spec.a", "no such thing"), Refusal("spec.b", "nor this")),
        ),
        GuestStatus("refused", "spec.a: no such thing; spec.b: nor this", "NotPossibleHere"),
    ),
    "killed": (
        Report(state="failed", reason="QemuKilled", message="QEMU was killed"),
        GuestStatus("failed", "QEMU was killed", "QemuKilled"),
    ),
    "shut down": (
        Report(state="succeeded", reason="GuestShutDown"),
        GuestStatus("succeeded", reason="GuestShutDown"),
    ),
    "substitutions": (
        Report(notes=(Note("spec.domain.cpu.model", "Westmere in place of host-model"),)),
        GuestStatus("starting", substitutions=("spec.domain.cpu.model: Westmere in place of host-model",)),
    ),
    "open ports": (
        Report(ports=(OpenPort(interface="default", protocol="tcp", port=80, here=40080),)),
        GuestStatus("starting", ports=("tcp 80 of default is 127.0.0.1:40080",)),
    ),
    "ports of an ended guest": (
        Report(state="succeeded", ports=(OpenPort(interface="default", protocol="tcp", port=80, here=40080),)),
        GuestStatus("succeeded"),
    ),
    "agent": (
        Report(agent=True, os=GuestOs(id="debian", pretty_name="Debian 12")),
        GuestStatus("starting", agent=True, os=VirtualMachineInstanceGuestOSInfo(id="debian", pretty_name="Debian 12")),
    ),
    "interfaces and volumes": (
        Report(
            interfaces=(Interface(name="default", mac="02:00:00:00:00:01", addresses=("10.0.2.15",)),),
            volumes=(Volume(name="root", target="vda", size=1024),),
        ),
        GuestStatus(
            "starting",
            interfaces=(
                VirtualMachineInstanceNetworkInterface(
                    name="default",
                    mac="02:00:00:00:00:01",
                    ip_address="10.0.2.15",
                    ip_addresses=["10.0.2.15"],
                    link_state="up",
                    queue_count=1,
                    info_source="domain",
                ),
            ),
            volumes=(VolumeStatus("root", "vda", size=1024),),
        ),
    ),
}


@pytest.mark.parametrize(("report", "guest"), REPORTS.values(), ids=REPORTS.keys())
def test_launcher_report_is_converted_to_guest_status(report: Report, guest: GuestStatus) -> None:
    assert read_report(report, SIZED) == guest


def test_failed_resize_is_reported_as_an_error_without_a_size() -> None:
    assert read_report(Report(state="running"), SIZED, "no room") == GuestStatus("running", resize_error="no room")

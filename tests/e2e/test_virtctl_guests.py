"""virtctl with real guests: console, VNC, ports, lifecycle, ssh and uploads."""

import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.demo import PROMPT
from tests.support.demoguests import Guests, build_guest, eventually
from tests.support.sshguest import create_ssh_guest
from tests.support.virtctl import Virtctl

from virtshape.api.model import JsonObject
from virtshape.launcher.images.demo.build import DemoGuest

TIMEOUT = 300.0
NAME = "visited"


@pytest.fixture(scope="module")
def virtctl(guests: Guests, tmp_path_factory: pytest.TempPathFactory) -> Virtctl:
    return Virtctl(guests.system.kubeconfig, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def guest_name(guests: Guests) -> Iterator[str]:
    """A VM whose guest has printed all its boot output."""
    guests.create(build_guest(NAME))
    guests.wait_for_text(NAME, PROMPT)
    yield NAME
    guests.delete(NAME)


def test_user_runs_a_command_at_the_console_and_detaches(virtctl: Virtctl, guest_name: str) -> None:
    with virtctl.open("console", guest_name) as terminal:
        terminal.wait_for(rb"Successfully connected to visited console\. Press Ctrl\+\] or Ctrl\+5 to exit console\.")
        terminal.type(b"\r")
        terminal.wait_for(rb"demo# ")
        terminal.type(b"echo $((6 * 7)) > /tmp/answer; cat /tmp/answer /proc/sys/kernel/ostype\r")
        terminal.wait_for(rb"\r\n42\r\nLinux\r\n")
        terminal.type(b"echo asleep; sleep 600\r")
        terminal.wait_for(rb"\r\nasleep\r\n")
        terminal.type(b"\x03")  # interrupts the command in the guest, not virtctl
        terminal.wait_for(rb"demo# ")
        terminal.type(b"\x1d")
        assert terminal.end() == 0
        assert terminal.is_restored()
    eventually(
        lambda: "\n42\n" in virtctl("console", NAME, stdin="cat /tmp/answer\n").out or None,
        lambda: "the guest does not have the file that the console session wrote",
    )


def test_console_log_contains_earlier_output(virtctl: Virtctl, guest_name: str) -> None:
    result = virtctl("console", guest_name, "--log")
    assert (result.status, result.err) == (0, "")
    (line,) = [line for line in result.out.splitlines() if line.startswith('{"sockets"')]
    assert json.loads(line)["memoryMiB"] == 192


def test_virtctl_vnc_proxy_serves_the_vnc_protocol(virtctl: Virtctl, guest_name: str) -> None:
    process = virtctl.start("vnc", guest_name, "--proxy-only")
    assert process.stdout is not None
    port = json.loads(process.stdout.readline())["port"]
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT) as viewer, viewer.makefile("rb") as stream:
        version = stream.read(12)
        assert re.fullmatch(rb"RFB 003\.\d{3}\n", version)
        viewer.sendall(version)
        (count,) = stream.read(1)
        assert 1 in stream.read(count), "VNC needs no password"
    assert process.wait(TIMEOUT) == 0
    process.communicate()


def forward(virtctl: Virtctl, *arguments: str) -> tuple["subprocess.Popen[str]", list[int]]:
    """Start port forwarding; return the process and the local ports."""
    process = virtctl.start("port-forward", f"vm/{NAME}", *arguments)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in arguments]
    return process, [int(re.search(r":(\d+) to", line)[1]) for line in lines]  # type: ignore[index]  # or it fails


def end(process: "subprocess.Popen[str]") -> tuple[int, str]:
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=TIMEOUT)
    return process.returncode, err


def test_virtctl_forwards_ports_into_the_guest(guests: Guests, virtctl: Virtctl, guest_name: str) -> None:
    process, (web, echo) = forward(virtctl, "0:80", "0:7")

    def probe() -> JsonObject | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{web}/shape.json", timeout=TIMEOUT) as answer:
                shape: JsonObject = json.load(answer)
                return shape
        except (OSError, http.client.HTTPException):  # the guest's network is not up yet
            return None

    assert eventually(probe, lambda: "the port is not open") == guests.read_shape(guest_name)
    with (
        socket.create_connection(("127.0.0.1", echo), timeout=TIMEOUT) as connection,
        connection.makefile("rb") as stream,
    ):
        for word in (b"there", b"and back"):
            connection.sendall(word)
            assert stream.read(len(word)) == word
    assert end(process)[0] == 0


def test_port_forward_connects_standard_input_and_output_to_a_guest_port(
    guests: Guests, virtctl: Virtctl, guest_name: str
) -> None:
    guests.wait_for_text(guest_name, "eth0 has")
    result = virtctl(
        "port-forward", "--stdio=true", f"vmi/{guest_name}/default", "80", stdin="GET /shape.json HTTP/1.0\r\n\r\n"
    )
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith("HTTP/1.")
    assert '"memoryMiB":192' in result.out.replace(" ", "")


def test_virtctl_pauses_unpauses_and_resets_a_guest(guests: Guests, virtctl: Virtctl, guest_name: str) -> None:
    assert virtctl("pause", "vm", guest_name) == (0, f"VMI {guest_name} was scheduled to pause\n", "")
    guests.wait_for_status(guest_name, "Paused")
    refused = virtctl("pause", "vmi", guest_name)
    assert (refused.status, "VMI is already paused\nCheck its status: kubectl get vmi" in refused.err) == (1, True)
    assert "VMI is paused" in virtctl("port-forward", "--stdio", f"vm/{guest_name}", "80").err
    assert virtctl("unpause", "vm", guest_name).status == 0
    guests.wait_for_status(guest_name, "Running")
    assert "VMI is not paused" in virtctl("unpause", "vmi", guest_name).err
    uid = (guests.vmi(guest_name) or {})["metadata"]["uid"]
    boots = count_boots(guests, guest_name)
    assert virtctl("reset", guest_name) == (0, f"VMI {guest_name} was scheduled to reset\n", "")
    wait_for_boot(guests, guest_name, boots + 1)
    assert (guests.vmi(guest_name) or {})["metadata"]["uid"] == uid, "the instance must stay the same"


def test_virtctl_soft_reboots_a_guest(guests: Guests, virtctl: Virtctl, guest_name: str) -> None:
    boots = count_boots(guests, guest_name)
    result = virtctl("soft-reboot", guest_name)
    assert (result.status, result.out) == (0, f"VMI {guest_name} was scheduled to soft-reboot\n"), result.err
    wait_for_boot(guests, guest_name, boots + 1)


def count_boots(guests: Guests, name: str) -> int:
    """Return how often the guest has shown its prompt."""
    return len(re.findall(r'\{"sockets".*?demo# ', guests.read_console(name), re.DOTALL))


def wait_for_boot(guests: Guests, name: str, count: int) -> None:
    eventually(lambda: count_boots(guests, name) >= count or None, lambda: guests.read_console(name)[-2000:])


def test_virtctl_stops_starts_and_restarts_a_vm(guests: Guests, virtctl: Virtctl) -> None:
    guests.create(build_guest("stopped", runStrategy="Halted"))
    guests.wait_for_status("stopped", "Stopped")
    assert virtctl("console", "stopped").err == (
        "error: VM stopped is not running\nStart it: virtctl start stopped -n default\n"
    )
    assert virtctl("start", "stopped").out == "VM stopped was scheduled to start\n"
    first = guests.wait_for_phase("stopped", "Running")
    guests.wait_for_text("stopped", PROMPT)
    assert "VM is already running" in virtctl("start", "stopped").err
    assert virtctl("restart", "stopped").out == "VM stopped was scheduled to restart\n"
    guests.wait_for_phase("stopped", "Running", other_than=first["metadata"]["uid"])
    assert virtctl("stop", "stopped", "--force", "--grace-period", "0").out == "VM stopped was scheduled to stop\n"
    guests.wait_for_status("stopped", "Stopped")
    assert "Halted does not support manual restart requests" in virtctl("restart", "stopped").err
    guests.delete("stopped")


REFUSED = [
    (["guestosinfo", NAME], "VMI does not have guest agent connected\nCheck its status: kubectl get vmi visited"),
    (["userlist", NAME], "VMI does not have guest agent connected"),
    (["fslist", NAME], "VMI does not have guest agent connected"),
    (["console", "visitet"], 'instance "visitet" not found in namespace default; did you mean "visited"?'),
    (["vnc", NAME], "no VNC viewer found\nInstall virt-viewer"),
    (["reset", "missing"], 'instance "missing" not found in namespace default\nList the instances'),
    (["port-forward", "vmi/missing", "0:80"], 'instance "missing" not found'),
    (["stop", "missing"], 'VM "missing" not found in namespace default'),
]


@pytest.mark.parametrize(("arguments", "error"), REFUSED, ids=[" ".join(arguments) for arguments, _ in REFUSED])
def test_failed_command_reports_the_reason_and_the_next_step(
    virtctl: Virtctl, guest_name: str, arguments: list[str], error: str
) -> None:
    assert guest_name == NAME
    result = virtctl(*arguments)
    assert (result.status, result.out, error in result.err) == (1, "", True), result.err
    assert len(result.err.splitlines()) >= 2


def run(program: str, *arguments: str | Path) -> None:
    """Run a program; skip the test if it is not installed."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    subprocess.run([str(path), *arguments], check=True)


@pytest.fixture(scope="module")
def qcow2(demo: DemoGuest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo image as qcow2."""
    target = tmp_path_factory.mktemp("image") / "demo.qcow2"
    run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-c", demo.disk, target)
    return target


@pytest.mark.parametrize("kind", ["pvc", "dv"])
def test_vm_boots_from_an_uploaded_image(guests: Guests, virtctl: Virtctl, qcow2: Path, kind: str) -> None:
    name = f"uploaded-{kind}"
    defaults = ["--default-instancetype", "u1.nano", "--default-preference", "linux"]
    result = virtctl("image-upload", kind, name, "--size", "128Mi", "--image-path", qcow2, *defaults)
    assert result.status == 0, result.err
    assert result.out.endswith(f"Processing completed successfully\nUploading {qcow2} completed successfully\n")
    source: JsonObject = (
        {"dataVolume": {"name": name}} if kind == "dv" else {"persistentVolumeClaim": {"claimName": name}}
    )
    tree = build_guest(name, instancetype={"inferFromVolume": "root"}, preference={"inferFromVolume": "root"})
    tree["spec"]["template"]["spec"]["volumes"] = [{"name": "root", **source}]
    del tree["spec"]["template"]["spec"]["domain"]["memory"]
    guests.create(tree)
    guests.wait_for_text(name, PROMPT)
    shape = guests.read_shape(name)
    assert shape["memoryMiB"] == 512, "the size of u1.nano"
    assert guests.vm(name)["spec"]["instancetype"]["name"] == "u1.nano"
    guests.delete(name)


def test_user_logs_in_with_ssh_and_copies_files(guests: Guests, virtctl: Virtctl, tmp_path: Path) -> None:
    key = create_ssh_guest(guests, "served", tmp_path)
    options: list[str | Path] = ["-i", key, "-t", "-o StrictHostKeyChecking=no", "--known-hosts", tmp_path / "known"]
    result = virtctl("ssh", "root@vmi/served", *options, "-c", "cat /proc/sys/kernel/ostype; exit 7")
    assert (result.status, result.out) == (7, "Linux\n"), result.err
    (tmp_path / "letter").write_text("dear guest\n")
    sent = virtctl("scp", *options, "-t", "-O", tmp_path / "letter", "root@vm/served:/root/letter")
    assert sent.status == 0, sent.err
    fetched = virtctl("scp", *options, "-t", "-O", "root@vmi/served:/root/letter", tmp_path / "back")
    assert (fetched.status, (tmp_path / "back").read_text()) == (0, "dear guest\n"), fetched.err
    guests.delete("served")

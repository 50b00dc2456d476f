"""virtctl guest commands against a separate server: actions, queries, ports, VNC and ssh."""

import json
import os
import signal
import socket
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest
from tests.integration.streams.conftest import TIMEOUT, Guests
from tests.support.echoguests import COUNT, ECHO, GREETING

RESULTS = [
    (["pause", "vm", "web"], "VMI web was scheduled to pause\n"),
    (["pause", "VirtualMachineInstances", "web"], "VMI web was scheduled to pause\n"),
    (["pause", "vmi", "web", "--dry-run"], "Dry Run execution\nVMI web was scheduled to pause\n"),
    (["reset", "web"], "VMI web was scheduled to reset\n"),
    (["reset", "vmi/web"], "VMI web was scheduled to reset\n"),
    (["reset", "web", "-o", "name"], "virtualmachineinstance.kubevirt.io/web\n"),
    (["soft-reboot", "web"], "VMI web was scheduled to soft-reboot\n"),
    (["guestosinfo", "web"], '{\n  "hostname": "web",\n  "asked": "guestosinfo"\n}\n'),
    (["userlist", "web", "-o", "yaml"], "hostname: web\nasked: userlist\n"),
    (["fslist", "web"], '{\n  "hostname": "web",\n  "asked": "filesystemlist"\n}\n'),
]


@pytest.mark.parametrize(("arguments", "out"), RESULTS, ids=[" ".join(arguments) for arguments, _ in RESULTS])
def test_guest_command_prints_its_result(guests: Guests, arguments: list[str], out: str) -> None:
    ran = guests.call(*arguments)
    assert (ran.status, ran.out.decode(), ran.err) == (0, out, "")


def test_guest_command_with_json_output_prints_the_instance(guests: Guests) -> None:
    ran = guests.call("reset", "web", "-o", "json")
    assert (ran.status, json.loads(ran.out)["metadata"]["name"]) == (0, "web"), ran.err


REFUSED = [
    (["pause", "pod", "web"], 2, 'invalid kind "pod": must be vm or vmi'),
    (["pause", "vm"], 2, "Missing argument 'NAME'"),
    (["pause", "vm", "off"], 1, "VM off is not running\nStart it: virtctl start off -n default"),
    (["pause", "vmi", "wep"], 1, 'instance "wep" not found in namespace default; did you mean "web"?'),
    (["pause", "vmi", "never"], 1, "VMI is not running\nCheck its status: kubectl get vmi never -n default"),
    (["unpause", "vmi", "web"], 1, "VMI is not paused"),
    (["guestosinfo", "web", "-n", "nowhere"], 1, 'instance "web" not found in namespace nowhere'),
    (["fslist", "never"], 1, "VMI is not running"),
    (["port-forward", "vmi/web"], 2, "Missing argument"),
    (["port-forward", "web", "80"], 2, 'invalid guest "web"'),
    (["port-forward", "vmi/web", "80:http"], 2, 'invalid port "80:http": must be 1-65535'),
    (["port-forward", "vmi/web", "sctp/80"], 2, 'invalid protocol "sctp": must be tcp or udp'),
    (["port-forward", "vmi/wep", "0:80"], 1, 'instance "wep" not found'),
    (["port-forward", "--stdio", "vmi/web", "80", "81"], 2, "--stdio requires exactly one port"),
    (["port-forward", "--stdio", "vmi/off", "80"], 1, "VM off is not running"),
    (["port-forward", "--stdio", "vmi/web", "1"], 1, "the guest cannot be reached: Connection refused"),
    (["vnc", "wep", "--proxy-only"], 1, 'instance "wep" not found'),
    (["vnc", "web"], 1, "no VNC viewer found\nInstall virt-viewer"),
    (["vnc", "web", "--vnc-type", "real"], 1, "no VNC viewer of type real found"),
    (["vnc", "web", "--vnc-path", "/bin/true"], 2, "--vnc-path requires --vnc-type"),
    (["vnc", "web", "--vnc-type", "tiger", "--vnc-path", "/no/such"], 1, "/no/such is not an executable program"),
    (["vnc", "web", "--address", "10.0.0.1"], 2, "--address requires --proxy-only"),
    (["scp", "a", "b"], 2, "neither path is in a guest"),
    (["scp", "vmi/web:a", "vmi/web:b"], 2, "both paths are in guests"),
    (["ssh", "pod/web"], 2, 'invalid kind "pod": must be vm or vmi'),
]


@pytest.mark.parametrize(
    ("arguments", "status", "error"), REFUSED, ids=[" ".join(arguments) for arguments, _, _ in REFUSED]
)
def test_failed_guest_command_reports_the_reason(guests: Guests, arguments: list[str], status: int, error: str) -> None:
    ran = guests.call(*arguments)
    assert (ran.status, ran.out, error in ran.err) == (status, b"", True), ran.err


def _read_line(process: "subprocess.Popen[bytes]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().decode()


def _finish(process: "subprocess.Popen[bytes]", number: int = signal.SIGINT) -> tuple[int, str]:
    """Stop a command with a signal; return its exit status and error output."""
    process.send_signal(number)
    _, err = process.communicate(timeout=TIMEOUT)
    return process.returncode, err.decode()


def test_virtctl_forwards_ports_until_ctrl_c(guests: Guests) -> None:
    process = guests.start("port-forward", "vm/web", f"0:{ECHO}", f"udp/0:{ECHO}", "0:1")
    lines = [_read_line(process) for _ in range(3)]
    assert [line.split()[1] for line in lines] == ["tcp", "udp", "tcp"]
    tcp, udp, nobody = (int(line.split()[2].rpartition(":")[2]) for line in lines)
    assert lines[0] == f"forwarding tcp 127.0.0.1:{tcp} to {ECHO}\n"
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", tcp), timeout=TIMEOUT) as connection:
            connection.sendall(b"over the wall")
            assert connection.recv(100) == b"over the wall"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.settimeout(TIMEOUT)
        for message in (b"one", b"two"):
            datagrams.sendto(message, ("127.0.0.1", udp))
            assert datagrams.recv(100) == message
    with socket.create_connection(("127.0.0.1", nobody), timeout=TIMEOUT) as connection:
        assert connection.recv(100) == b"", "the guest does not listen, so the connection must end"
    status, err = _finish(process)
    assert (status, err.count("\n")) == (0, 1)
    assert err.startswith("vm/web port 1: ")


def test_half_closed_port_forward_client_receives_the_response(guests: Guests) -> None:
    process = guests.start("port-forward", "vmi/web", f"0:{COUNT}")
    port = int(_read_line(process).split()[2].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT) as connection:
        connection.sendall(b"x" * 1000 + b"\n.\n")
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b"1003\n"
    assert _finish(process, signal.SIGTERM) == (0, "")


def test_port_forward_reports_a_local_port_in_use_with_a_suggestion(guests: Guests) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = guests.call("port-forward", "vmi/web", f"{port}:80")
    assert ran.status == 1
    assert f"cannot listen on 127.0.0.1:{port}: " in ran.err
    assert "0:80 uses a free port" in ran.err


def test_port_forward_connects_standard_input_and_output_to_a_port(guests: Guests) -> None:
    ran = guests.call("port-forward", "--stdio=true", "vmi/web/default", str(COUNT), said=b"y" * 300_000 + b"\n.\n")
    assert (ran.status, ran.out, ran.err) == (0, b"300003\n", "")


def test_large_transfer_through_a_forwarded_port_is_complete(guests: Guests) -> None:
    data = os.urandom(20_000_000)
    process = guests.start("port-forward", "--stdio", "vmi/web", str(ECHO))
    assert process.stdin is not None
    assert process.stdout is not None
    writing = threading.Thread(target=process.stdin.write, args=(data,))
    writing.start()
    assert process.stdout.read(len(data)) == data
    writing.join()
    process.terminate()
    process.communicate(timeout=TIMEOUT)


def test_vnc_proxy_accepts_one_viewer(guests: Guests) -> None:
    process = guests.start("vnc", "web", "--proxy-only")
    line = _read_line(process)
    port = json.loads(line)["port"]
    assert line == f'{{"port":{port}}}\n'
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT) as viewer:
        assert viewer.recv(100) == GREETING
        with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT) as second:
            assert second.recv(100) == b""
        viewer.sendall(b"RFB 003.008\n")
        assert viewer.recv(100) == b"RFB 003.008\n"
    _, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, err) == (0, b"")


def test_vnc_session_ends_with_a_reason_when_another_client_takes_over(guests: Guests) -> None:
    first = guests.start("vnc", "web", "--proxy-only", "--port", "0")
    with socket.create_connection(("127.0.0.1", json.loads(_read_line(first))["port"])) as viewer:
        assert viewer.recv(100) == GREETING
        second = guests.start("vnc", "web", "--proxy-only")
        _read_line(second)
        _, err = first.communicate(timeout=TIMEOUT)
    assert (first.returncode, b"another client connected to the screen of web" in err) == (1, True)
    assert _finish(second) == (0, "")


def test_ctrl_c_stops_virtctl_vnc_while_a_viewer_is_running(guests: Guests) -> None:
    process = guests.start("vnc", "web", "--proxy-only")
    with socket.create_connection(("127.0.0.1", json.loads(_read_line(process))["port"])) as viewer:
        assert viewer.recv(100) == GREETING
        assert _finish(process) == (0, "")
        assert viewer.recv(100) == b""


def _write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


VIEWERS = {
    "found": ("remote-viewer", [], "vnc://127.0.0.1:"),
    "named": ("vncviewer", ["--vnc-type", "tiger"], "127.0.0.1::"),
}


@pytest.mark.parametrize(("program", "message", "address"), VIEWERS.values(), ids=VIEWERS)
def test_virtctl_vnc_starts_a_viewer_and_exits_with_it(
    guests: Guests, tmp_path: Path, program: str, message: list[str], address: str
) -> None:
    script = 'echo "$@" > "$SEEN"; exec python3 -c \'\nimport re, socket, sys\nport = int(re.findall(r"\\d+", sys.argv[1])[-1])\nsocket.create_connection(("127.0.0.1", port)).recv(12)\n\' "$1"\n'  # noqa: E501 - one program
    _write_program(tmp_path / program, script)
    path = f"{tmp_path}:{guests.environment['PATH']}:{os.environ['PATH']}"
    ran = guests.call("vnc", "web", *message, PATH=path, SEEN=str(tmp_path / "seen"))
    assert (ran.status, ran.err) == (0, "")
    assert (tmp_path / "seen").read_text().startswith(address)


def test_output_of_a_failed_vnc_viewer_is_reported(guests: Guests, tmp_path: Path) -> None:
    _write_program(tmp_path / "viewer", "echo cannot open display >&2; exit 3\n")
    ran = guests.call("vnc", "web", "--vnc-type", "tiger", "--vnc-path", str(tmp_path / "viewer"))
    assert ran.status == 1
    assert "viewer exited with status 3 and never connected\n  - cannot open display" in ran.err


def test_signal_to_virtctl_vnc_stops_the_viewer(guests: Guests, tmp_path: Path) -> None:
    _write_program(tmp_path / "viewer", 'echo $$ > "$SEEN"; exec sleep 60\n')
    seen = tmp_path / "seen"
    process = guests.start("vnc", "web", "--vnc-type", "tiger", "--vnc-path", str(tmp_path / "viewer"), SEEN=str(seen))
    deadline = time.monotonic() + TIMEOUT
    while not (seen.exists() and seen.read_text().strip()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert _finish(process) == (0, "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(seen.read_text()), 0)


def test_signal_during_viewer_startup_stops_virtctl_and_the_viewer(guests: Guests, tmp_path: Path) -> None:
    _write_program(tmp_path / "viewer", 'echo $$ > "$SEEN"; kill -INT $PPID; exec sleep 60\n')
    seen = tmp_path / "seen"
    viewer = ("--vnc-type", "tiger", "--vnc-path", str(tmp_path / "viewer"))
    ran = guests.call("vnc", "web", *viewer, SEEN=str(seen))
    assert (ran.status, ran.err) == (0, "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(seen.read_text()), 0)


def test_virtctl_exits_cleanly_on_a_signal_after_its_first_output(guests: Guests) -> None:
    process = guests.start("port-forward", "vmi/web", f"0:{ECHO}")
    assert _read_line(process).startswith("forwarding tcp")
    assert _finish(process, signal.SIGTERM) == (0, "")


PROXY = """
while [ $# -gt 0 ]; do
    case $1 in ProxyCommand=*) proxy=${1#ProxyCommand=};; esac
    printf '%s\\n' "$1" >> "$SEEN"
    shift
done
printf 'over ssh\\n' | sh -c "exec $proxy" > "$SEEN.out" &
for _ in $(seq 2400); do
    [ -s "$SEEN.out" ] && break
    sleep 0.1
done
kill $!
cat "$SEEN.out"
exit 7
"""


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (["ssh", "jdoe@vmi/web", "-p", str(ECHO)], ["jdoe@vmi.web.default"]),
        (["ssh", "web", "-l", "root", "-p", str(ECHO), "-c", "ls /"], ["root@vmi.web.default", "ls /"]),
        (
            [
                "ssh",
                "vm/web/default",
                "-i",
                "key",
                "-t",
                "-o A=b",
                "--known-hosts",
                "/k",
                "-p",
                str(ECHO),
                "--local-ssh",
            ],
            ["-o", "UserKnownHostsFile=/k", "-o A=b", "-i", "key", "vm.web.default"],
        ),
        (["scp", "-r", "--preserve", "a", "me@vmi/web:b", "-p", str(ECHO)], ["-r", "-p", "a", "me@vmi.web.default:b"]),
        (["scp", "vmi/web.default:/b c", ".", "-p", str(ECHO)], ["vmi.web.default:/b c", "."]),
    ],
    ids=["user", "command", "flags", "copy to the guest", "copy from the guest"],
)
def test_ssh_and_scp_connect_to_the_guest_through_virtctl(
    guests: Guests, tmp_path: Path, message: list[str], expected: list[str]
) -> None:
    _write_program(tmp_path / message[0], PROXY)
    seen = tmp_path / "seen"
    ran = guests.call(*message, PATH=f"{tmp_path}:{guests.environment['PATH']}", SEEN=str(seen))
    assert (ran.status, ran.out) == (7, b"over ssh\n"), ran.err
    assert seen.read_text().splitlines()[2:] == expected


def test_ssh_proxy_command_uses_the_kubeconfig_of_virtctl(guests: Guests, tmp_path: Path) -> None:
    _write_program(tmp_path / "ssh", PROXY)
    ran = guests.call(
        "--kubeconfig",
        guests.kubeconfig,
        "ssh",
        "web",
        "-p",
        str(ECHO),
        KUBECONFIG="/nonexistent",
        PATH=f"{tmp_path}:{guests.environment['PATH']}",
        SEEN=str(tmp_path / "seen"),
    )
    assert ran.out == b"over ssh\n", ran.err


def test_missing_ssh_program_is_reported(guests: Guests, tmp_path: Path) -> None:
    ran = guests.call("ssh", "web", PATH=str(tmp_path))
    assert (ran.status, ran.err) == (
        1,
        "error: ssh is not installed\nInstall the OpenSSH client, such as the package openssh-client.\n",
    )

"""KubeVirt's own virtctl against `virtshape up` with real guests; tools/kubevirt/build.sh builds it."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.support.demo import PROMPT, find_free_port
from tests.support.demoguests import CORE, Guests, build_guest, eventually
from tests.support.kubevirt import open_virtctl
from tests.support.sshguest import create_ssh_guest
from tests.support.upprocess import call_virtshape
from tests.support.virtctl import Virtctl

from virtshape.api.model import JsonObject

NAME = "asked-in-go"
TIMEOUT = 300.0
MIB = 1 << 20
MAX_ERROR_BODY_BYTES = 1024
"""Number of bytes that the client reads of the response to a failed WebSocket handshake."""


@pytest.fixture(scope="module")
def virtctl(guests: Guests) -> Virtctl:
    return open_virtctl(guests.system.kubeconfig)


@pytest.fixture(scope="module")
def guest_name(guests: Guests, virtctl: Virtctl) -> Iterator[str]:
    """A VM started by KubeVirt's virtctl, whose guest shows its prompt."""
    guests.create(build_guest(NAME, runStrategy="Halted"))
    guests.wait_for_status(NAME, "Stopped")
    assert virtctl("start", NAME) == (0, f"VM {NAME} was scheduled to start\n", "")
    guests.wait_for_text(NAME, PROMPT)
    yield NAME
    guests.delete(NAME)


def test_kubevirts_virtctl_version_shows_client_and_server_versions(virtctl: Virtctl) -> None:
    client, server = virtctl("version").out.splitlines()
    assert 'GitVersion:"v1.8.0"' in client
    assert re.match(r'Server Version: version\.Info\{GitVersion:"v\d+\.\d+\.\d+', server)


REFUSALS: dict[str, tuple[list[str], str]] = {
    "unknown VM": (["start", "missing"], 'virtualmachine.kubevirt.io "missing" not found'),
    "console of an unknown VM": (["console", "missing"], 'virtualmachineinstance.kubevirt.io "missing" not found'),
    "running VM is started": (["start", NAME], "VM is already running"),
    "running VM is unpaused": (["unpause", "vm", NAME], "VMI is not paused"),
    "users without a guest agent": (["userlist", NAME], "VMI does not have guest agent connected"),
    "file systems without a guest agent": (["fslist", NAME], "VMI does not have guest agent connected"),
    "guest information without a guest agent": (["guestosinfo", NAME], "the server reported a conflict"),
}


NOT_FOUND = "the server could not find the requested resource"
UNAVAILABLE = {
    "migration": ["migrate", NAME],
    "migrations": ["migrate-cancel", NAME],
    "evacuation of a VM": ["evacuate-cancel", "vm", NAME],
    "evacuation of an instance": ["evacuate-cancel", "vmi", NAME],
    "export": ["vmexport", "create", "export", f"--vm={NAME}"],
    "memory dump": ["memory-dump", "get", NAME, "--claim-name=dump"],
    "removal of a memory dump": ["memory-dump", "remove", NAME],
    "libguestfs": ["guestfs", "claim"],
    "template": ["template", "process", "--name", NAME],
    "object graph": ["objectgraph", NAME],
    "USB redirection": ["usbredir", NAME, "--no-launch"],
}


@pytest.mark.parametrize("arguments", UNAVAILABLE.values(), ids=UNAVAILABLE)
@pytest.mark.usefixtures("guest_name")
def test_unsupported_command_of_kubevirts_virtctl_reports_a_missing_resource(
    virtctl: Virtctl, arguments: list[str]
) -> None:
    result = virtctl(*arguments)
    assert (result.status, NOT_FOUND in result.err) == (1, True), result.err


@pytest.mark.parametrize(("arguments", "message"), REFUSALS.values(), ids=REFUSALS)
@pytest.mark.usefixtures("guest_name")
def test_kubevirts_virtctl_prints_error_messages_of_the_server(
    virtctl: Virtctl, arguments: list[str], message: str
) -> None:
    result = virtctl(*arguments)
    assert (result.status, message in result.err) == (1, True), result.err


def test_stream_error_is_short_enough_for_the_websocket_client(virtctl: Virtctl) -> None:
    name = ".".join(["n" * 60] * 4)
    refused = virtctl("console", name, "-n", "n" * 63)
    assert f'virtualmachineinstance.kubevirt.io "{name}" not found' in refused.err
    assert len(refused.err) < MAX_ERROR_BODY_BYTES


def test_kubevirts_virtctl_console_sends_input_and_shows_output(virtctl: Virtctl, guest_name: str) -> None:
    with virtctl.open("console", guest_name) as terminal:
        terminal.wait_for(rb"Successfully connected to asked-in-go console")
        terminal.type(b"\r")
        terminal.wait_for(rb"demo# ")
        terminal.type(b"echo $((6 * 7)) > /tmp/answer; cat /tmp/answer\r")
        terminal.wait_for(rb"\n42\r")
        terminal.type(b"\x1d")
        assert terminal.end() == 0


def test_kubevirts_virtctl_vnc_proxy_serves_the_vnc_protocol(virtctl: Virtctl, guest_name: str) -> None:
    process = virtctl.start("vnc", guest_name, "--proxy-only", stderr=subprocess.STDOUT)
    assert process.stdout is not None
    port = next(json.loads(line)["port"] for line in process.stdout if '"port"' in line)
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT) as viewer, viewer.makefile("rb") as stream:
        assert stream.read(12) == b"RFB 003.008\n"
    process.kill()
    process.communicate()


def fetch_shape(virtctl: Virtctl, target: str) -> JsonObject:
    """Return the hardware of a guest, fetched from its web server through a forwarded port."""
    port = find_free_port()
    process = virtctl.start("port-forward", target, f"{port}:80", stderr=subprocess.STDOUT)

    def probe() -> JsonObject | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/shape.json", timeout=TIMEOUT) as answer:
                shape: JsonObject = json.load(answer)
                return shape
        except (OSError, http.client.HTTPException):  # virtctl is not listening yet
            return None

    shape = eventually(probe, lambda: "the port is not open")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=TIMEOUT)
    return shape


@pytest.mark.parametrize("kind", ["vm", "vmi"])
def test_kubevirts_virtctl_forwards_a_port_into_the_guest(
    guests: Guests, virtctl: Virtctl, guest_name: str, kind: str
) -> None:
    guests.wait_for_text(guest_name, "eth0 has")
    assert fetch_shape(virtctl, f"{kind}/{guest_name}") == guests.read_shape(guest_name)


def test_port_forward_requires_permission(guests: Guests, guest_name: str, tmp_path: Path) -> None:
    def add(name: str, role: str) -> Virtctl:
        arguments = ("user", "add", name, "--namespace", "default", "--role", role)
        result = call_virtshape(*arguments, "--data-dir", guests.system.directory)
        assert result.returncode == 0, result.stderr
        (tmp_path / name).write_text(result.stdout)
        return open_virtctl(tmp_path / name)

    guests.wait_for_text(guest_name, "eth0 has")
    assert fetch_shape(add("editor", "edit"), f"vmi/{guest_name}")["memoryMiB"] == 192, "authenticates by certificate"
    refused = add("onlooker", "view")("port-forward", "--stdio=true", f"vmi/{guest_name}", "80")
    assert 'User "onlooker" cannot get resource "virtualmachineinstances/portforward"' in refused.err


def test_kubevirts_virtctl_pauses_reboots_resets_and_restarts_a_vm(
    guests: Guests, virtctl: Virtctl, guest_name: str
) -> None:
    assert virtctl("pause", "vm", guest_name) == (0, f"VMI {guest_name} was scheduled to pause\n", "")
    guests.wait_for_status(guest_name, "Paused")
    assert "VMI is already paused" in virtctl("pause", "vmi", guest_name).err
    assert virtctl("unpause", "vm", guest_name) == (0, f"VMI {guest_name} was scheduled to unpause\n", "")
    guests.wait_for_status(guest_name, "Running")
    assert virtctl("soft-reboot", guest_name).out == f"VMI {guest_name} was scheduled to soft-reboot\n"
    assert virtctl("reset", guest_name).out == f"VMI {guest_name} was scheduled to reset\n"
    before = guests.wait_for_phase(guest_name, "Running")["metadata"]["uid"]
    assert virtctl("restart", guest_name) == (0, f"VM {guest_name} was scheduled to restart\n", "")
    guests.wait_for_phase(guest_name, "Running", other_than=before)


def test_manifests_of_kubevirts_virtctl_are_accepted_and_expanded(
    guests: Guests, virtctl: Virtctl, tmp_path: Path
) -> None:
    manifests = [
        virtctl("create", "instancetype", "--name", "go-size", "--cpu", "2", "--memory", "192Mi", "--namespaced"),
        virtctl("create", "preference", "--name", "go-guest", "--cpu-topology", "cores", "--namespaced"),
        virtctl(
            "create",
            "vm",
            *("--name", "go-made", "--run-strategy", "Halted", "--volume-import", "type:blank,size:8Mi"),
            *("--instancetype", "virtualmachineinstancetype/go-size"),
            *("--preference", "virtualmachinepreference/go-guest"),
        ),
    ]
    trees = [yaml.safe_load(manifest.out) for manifest in manifests]
    for tree, plural in zip(trees, ("instancetypes", "preferences", "s"), strict=True):
        path = f"/apis/{tree['apiVersion']}/namespaces/default/virtualmachine{plural}"
        code, answer = guests.system.request("POST", path, tree)
        assert code == 201, answer
    shown = yaml.safe_load(virtctl("expand", "--vm", "go-made").out)["spec"]
    assert shown["template"]["spec"]["domain"]["cpu"] == {"sockets": 1, "cores": 2, "threads": 1}
    (tmp_path / "vm.yaml").write_text(yaml.safe_dump(trees[2]))
    from_file = yaml.safe_load(virtctl("expand", "--file", tmp_path / "vm.yaml").out)["spec"]
    assert from_file["template"]["spec"]["domain"]["cpu"] == shown["template"]["spec"]["domain"]["cpu"]
    guests.delete("go-made")


@pytest.mark.parametrize("bus", ["scsi", "virtio"])
def test_kubevirts_virtctl_adds_and_removes_a_volume_of_a_running_vm(
    guests: Guests, virtctl: Virtctl, guest_name: str, bus: str
) -> None:
    claim = f"plugged-{bus}"
    guests.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim, "namespace": "default"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Mi"}}},
        }
    )
    options = ("--volume-name", claim)
    sent = "Successfully submitted {} volume request to VM {} for volume {}\n"
    added = virtctl("addvolume", guest_name, *options, "--bus", bus)
    assert added == (0, sent.format("add", guest_name, claim), "")

    def find_phase() -> str | None:
        status = (guests.vmi(guest_name) or {})["status"]
        return next((one.get("phase") for one in status["volumeStatus"] if one["name"] == claim), None)

    eventually(lambda: find_phase() == "Ready" or None, lambda: f"{claim} is not ready: {guests.vmi(guest_name)}")
    twice = virtctl("addvolume", guest_name, *options)
    assert (twice.status, "volume with that name already exists" in twice.err) == (1, True), twice.err
    removed = virtctl("removevolume", guest_name, *options)
    assert removed == (0, sent.format("remove", guest_name, claim), "")
    eventually(lambda: find_phase() is None or None, lambda: f"{claim} is not removed: {guests.vmi(guest_name)}")
    again = virtctl("removevolume", guest_name, *options)
    assert (again.status, "because it does not exist" in again.err) == (1, True), again.err


def test_kubevirts_virtctl_exposes_a_vm_as_a_service(guests: Guests, virtctl: Virtctl, guest_name: str) -> None:
    result = virtctl("expose", "vm", guest_name, "--name", "go-web", "--port", "8080", "--target-port", "80")
    assert (result.status, result.out) == (0, f"Service go-web successfully created for vm {guest_name}\n")
    _, service = guests.system.request("GET", f"{CORE}/services/go-web")
    assert [(port["port"], port["targetPort"]) for port in service["spec"]["ports"]] == [(8080, 80)]


def test_kubevirts_virtctl_adds_and_removes_an_ssh_key(guests: Guests, virtctl: Virtctl) -> None:
    guests.create(build_guest("go-keyed", runStrategy="Halted"))
    options = ("go-keyed", "--user", "root", "--value", "ssh-ed25519 AAAA user@example")
    added = virtctl("credentials", "add-ssh-key", "--create-secret", *options)
    assert added.status == 0, added.err
    (credential,) = guests.vm("go-keyed")["spec"]["template"]["spec"]["accessCredentials"]
    secret = f"{CORE}/secrets/{credential['sshPublicKey']['source']['secret']['secretName']}"
    assert len(guests.system.request("GET", secret)[1]["data"]) == 1
    removed = virtctl("credentials", "remove-ssh-key", *options)
    assert removed.status == 0, removed.err
    assert not guests.system.request("GET", secret)[1].get("data")
    guests.delete("go-keyed")


def test_kubevirts_virtctl_changes_and_shows_log_verbosity(virtctl: Virtctl) -> None:
    assert virtctl("adm", "log-verbosity", "--virt-api=5").status == 0
    assert virtctl("adm", "log-verbosity", "--virt-api").out == "virt-api=5\n"
    assert virtctl("adm", "log-verbosity", "--reset").status == 0
    assert virtctl("adm", "log-verbosity", "--virt-api").out == "virt-api=2\n"


def test_kubevirts_virtctl_lists_permitted_devices(virtctl: Virtctl) -> None:
    assert "Permitted Devices" in virtctl("permitted-devices", "-n", "kubevirt").out


def test_user_logs_in_with_ssh_and_copies_files(guests: Guests, virtctl: Virtctl, tmp_path: Path) -> None:
    key = create_ssh_guest(guests, "go-served", tmp_path)
    options: list[str | Path] = ["-i", key, "-t", "-o StrictHostKeyChecking=no", "--known-hosts", tmp_path / "known"]
    result = virtctl("ssh", "root@vmi/go-served", *options, "-c", "cat /proc/sys/kernel/ostype")
    assert (result.status, result.out) == (0, "Linux\n"), result.err
    (tmp_path / "letter").write_text("dear guest\n")
    sent = virtctl("scp", *options, "-t", "-O", tmp_path / "letter", "root@vm/go-served:/root/letter")
    assert sent.status == 0, sent.err
    fetched = virtctl("scp", *options, "-t", "-O", "root@vmi/go-served:/root/letter", tmp_path / "back")
    assert (fetched.status, (tmp_path / "back").read_text()) == (0, "dear guest\n"), fetched.err
    guests.delete("go-served")


@pytest.mark.parametrize("kind", ["pvc", "dv"])
def test_kubevirts_virtctl_uploads_an_image_to_a_claim(
    guests: Guests, virtctl: Virtctl, tmp_path: Path, kind: str
) -> None:
    disk = tmp_path / "disk.raw"
    disk.write_bytes(os.urandom(3 * MIB))
    result = virtctl("image-upload", kind, f"go-{kind}", "--size", "8Mi", "--image-path", disk, "--insecure")
    assert result.status == 0, result.err
    assert f"Uploading {disk} completed successfully" in result.out
    _, claim = guests.system.request("GET", f"{CORE}/persistentvolumeclaims/go-{kind}")
    kept = guests.system.directory / "volumes" / claim["spec"]["volumeName"] / "disk.img"
    assert kept.read_bytes() == disk.read_bytes().ljust(8 * MIB, b"\0")


def test_kubevirts_virtctl_console_exits_when_the_guest_stops(
    guests: Guests, virtctl: Virtctl, guest_name: str
) -> None:
    guests.wait_for_status(guest_name, "Running")
    with virtctl.open("console", guest_name) as terminal:
        terminal.wait_for(rb"Successfully connected")
        assert virtctl("stop", guest_name, "--grace-period", "0", "--force").status == 0
        terminal.end()
    guests.wait_for_status(guest_name, "Stopped")
    assert "Halted does not support manual restart requests" in virtctl("restart", guest_name).err

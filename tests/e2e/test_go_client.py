"""
Requests of a Go client that uses the same libraries as KubeVirt's clients.

`tools/goclient` builds it. It sends and parses requests as KubeVirt's virtctl does.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.demo import PROMPT
from tests.support.demoguests import ACTIONS, CORE, Guests, build_guest, eventually
from tests.support.kubectl import CACHE, KubectlResult
from tests.support.terminals import Terminal
from tests.support.upprocess import call_virtshape

VMS = f"{ACTIONS}/virtualmachines"
VMIS = f"{ACTIONS}/virtualmachineinstances"
NAME = "asked-in-go"
TIMEOUT = 120.0
CONFLICT = f'Operation cannot be fulfilled on virtualmachineinstance.kubevirt.io "{NAME}"'
MIB = 1 << 20
MAX_ERROR_BODY_BYTES = 1024


class GoClient:
    """The client with a kubeconfig."""

    def __init__(self, path: Path, kubeconfig: Path) -> None:
        self.path = path
        self.environment = {"HOME": str(kubeconfig.parent), "KUBECONFIG": str(kubeconfig), "PATH": os.environ["PATH"]}

    def __call__(self, *arguments: str | Path, stdin: bytes = b"") -> KubectlResult:
        result = subprocess.run(
            [self.path, *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            env=self.environment,
            timeout=TIMEOUT,
        )
        return KubectlResult(result.returncode, result.stdout.decode(errors="replace"), result.stderr.decode())

    def put(self, path: str, *body: str) -> KubectlResult:
        return self("put", path, *body)


@pytest.fixture(scope="module")
def path() -> Path:
    """The path of the client; tests are skipped without it."""
    built = sorted(CACHE.glob("goclient-*"), key=lambda path: path.stat().st_mtime)
    if built:
        return built[-1]
    pytest.skip("no Go client: tools/goclient/build.sh makes one with Go")


@pytest.fixture(scope="module")
def client(path: Path, guests: Guests) -> GoClient:
    return GoClient(path, guests.system.kubeconfig)


@pytest.fixture(scope="module")
def asked(guests: Guests, client: GoClient) -> Iterator[str]:
    """A VM started by the client, whose guest shows its prompt."""
    guests.create(build_guest(NAME, runStrategy="Halted"))
    guests.wait_for_status(NAME, "Stopped")
    assert client.put(f"{VMS}/{NAME}/start", "{}") == (0, "202\n", "")
    guests.wait_for_text(NAME, PROMPT)
    yield NAME
    guests.delete(NAME)


def test_version_is_found_through_the_subresource_group(client: GoClient) -> None:
    assert client("version").out.startswith("subresources.kubevirt.io/v1 v")


REFUSALS: dict[str, tuple[str, str, str]] = {
    "unknown VM": ("put", f"{VMS}/missing/start", 'virtualmachine.kubevirt.io "missing" not found\n'),
    "console of an unknown VM": (
        "stream",
        f"{VMIS}/missing/console",
        '404: virtualmachineinstance.kubevirt.io "missing" not found\n',
    ),
    "port out of range": (
        "stream",
        f"{VMIS}/{NAME}/portforward/70000/tcp",
        '400: invalid port "70000": must be 1-65535\n',
    ),
    "unknown protocol": (
        "stream",
        f"{VMIS}/{NAME}/portforward/80/sctp",
        '400: unsupported protocol "sctp": must be tcp or udp\n',
    ),
    "no agent": (
        "get",
        f"{VMIS}/{NAME}/guestosinfo",
        f"{CONFLICT}: VMI does not have guest agent connected\n",
    ),
}


@pytest.mark.parametrize(("verb", "where", "message"), REFUSALS.values(), ids=REFUSALS)
@pytest.mark.usefixtures("asked")
def test_error_messages_reach_the_client(client: GoClient, verb: str, where: str, message: str) -> None:
    assert client(verb, where) == (1, "", message)


def test_long_stream_error_fits_the_clients_read_limit(client: GoClient) -> None:
    name = ".".join(["n" * 60] * 4)
    where = f"/apis/subresources.kubevirt.io/v1/namespaces/{'n' * 63}/virtualmachineinstances/{name}/console"
    refused = client("stream", where)
    assert refused.err.startswith("404: ")
    assert name in refused.err
    assert len(refused.err) < MAX_ERROR_BODY_BYTES


def test_console_of_a_starting_guest_returns_the_code_that_clients_retry(guests: Guests, client: GoClient) -> None:
    tree = build_guest("never")
    tree["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "elsewhere"}
    guests.create(tree)
    eventually(lambda: guests.vmi("never"), lambda: "it never has an instance")
    assert client("stream", f"{VMIS}/never/console") == (1, "", "400: VMI is not running\n")
    guests.delete("never")


def test_console_is_usable(client: GoClient, asked: str) -> None:
    with Terminal([client.path, "stream", f"{VMIS}/{asked}/console"], client.environment) as terminal:
        terminal.type(b"\r")
        terminal.wait_for(rb"demo# ")
        terminal.type(b"echo $((6 * 7)) > /tmp/answer; cat /tmp/answer\r")
        terminal.wait_for(rb"\n42\r")


def test_vnc_stream_is_a_vnc_server(client: GoClient, asked: str) -> None:
    process = subprocess.Popen(
        [client.path, "stream", f"{VMIS}/{asked}/vnc"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=client.environment,
    )
    assert process.stdout is not None
    assert process.stdout.read(12) == b"RFB 003.008\n"
    process.kill()
    process.communicate()


def query_web_server(client: GoClient, port: str) -> KubectlResult:
    """Query the web server in a guest until its network is up, and return the result."""

    def look() -> KubectlResult | None:
        result = client("stream", port, stdin=b"GET /shape.json HTTP/1.0\r\n\r\n")
        return result if result.out else None

    return eventually(look, lambda: "the port is not open")


@pytest.mark.parametrize("kind", [VMS, VMIS], ids=["VM", "instance"])
def test_port_stream_ends_with_the_response(client: GoClient, asked: str, kind: str) -> None:
    result = query_web_server(client, f"{kind}/{asked}/portforward/80/tcp")
    assert (result.status, result.err) == (0, "")
    assert '"memoryMiB":192' in result.out


def test_actions_accept_options_in_any_form(guests: Guests, client: GoClient, asked: str) -> None:
    assert client.put(f"{VMIS}/{asked}/pause", "{}") == (0, "202\n", "")
    guests.wait_for_status(asked, "Paused")
    assert client.put(f"{VMIS}/{asked}/pause", "{}").err == f"{CONFLICT}: VMI is already paused\n"
    assert client.put(f"{VMIS}/{asked}/unpause", "{}") == (0, "202\n", "")
    guests.wait_for_status(asked, "Running")
    assert client.put(f"{VMIS}/{asked}/softreboot") == (0, "202\n", "")
    assert client.put(f"{VMIS}/{asked}/reset") == (0, "202\n", "")
    before = guests.wait_for_phase(asked, "Running")["metadata"]["uid"]
    assert client.put(f"{VMS}/{asked}/restart", "{}") == (0, "202\n", "")
    guests.wait_for_phase(asked, "Running", other_than=before)


def test_vm_is_expanded(client: GoClient, asked: str) -> None:
    assert client("get", f"{VMS}/{asked}/expand-spec").tree["metadata"]["name"] == asked
    text = client("get", f"/apis/kubevirt.io/v1/namespaces/default/virtualmachines/{asked}").out
    assert client.put(f"{ACTIONS}/expand-vm-spec", text) == (0, "200\n", "")


@pytest.mark.parametrize("kind", ["pvc", "dv"])
def test_claim_is_uploaded(guests: Guests, client: GoClient, tmp_path: Path, kind: str) -> None:
    disk = tmp_path / "disk.raw"
    disk.write_bytes(os.urandom(3 * MIB))
    assert client("upload", kind, f"go-{kind}", "8Mi", disk) == (0, "", "")
    _, claim = guests.system.request("GET", f"{CORE}/persistentvolumeclaims/go-{kind}")
    kept = guests.system.directory / "volumes" / claim["spec"]["volumeName"] / "disk.img"
    assert kept.read_bytes() == disk.read_bytes().ljust(8 * MIB, b"\0")


def test_stream_requires_permission(guests: Guests, path: Path, asked: str, tmp_path: Path) -> None:
    def add(name: str, role: str) -> GoClient:
        arguments = ("user", "add", name, "--namespace", "default", "--role", role)
        result = call_virtshape(*arguments, "--data-dir", guests.system.directory)
        assert result.returncode == 0, result.stderr
        (tmp_path / name).write_text(result.stdout)
        return GoClient(path, tmp_path / name)

    port = f"{VMIS}/{asked}/portforward/80/tcp"
    guests.wait_for_phase(asked, "Running")
    assert query_web_server(add("editor", "edit"), port).err == "", "the user authenticates with a certificate"
    refused = add("onlooker", "view")("stream", port)
    assert refused.err.startswith("403: ")
    assert 'User "onlooker" cannot get resource "virtualmachineinstances/portforward"' in refused.err


def test_stream_ends_with_its_guest(guests: Guests, client: GoClient, asked: str) -> None:
    guests.wait_for_status(asked, "Running")
    with Terminal([client.path, "stream", f"{VMIS}/{asked}/console"], client.environment) as terminal:
        terminal.type(b"\r")
        terminal.wait_for(rb"\S")
        assert client.put(f"{VMS}/{asked}/stop", '{"gracePeriod":0}') == (0, "202\n", "")
        assert terminal.end() == 0
    guests.wait_for_status(asked, "Stopped")
    assert "Halted does not support manual restart requests" in client.put(f"{VMS}/{asked}/restart", "{}").err

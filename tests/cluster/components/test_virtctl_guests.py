"""virtctl with a real guest in a pod, through a real API server: console, ports, ssh, agent and uploads."""

import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.components.cdi import STORAGE, FakeCdi, TokenRequest, run_fake_cdi
from tests.cluster.components.installation import ComponentProcess, Installation
from tests.cluster.components.node import Node, run_node
from tests.support import guestagent, sshd
from tests.support.controlplane import ControlPlane
from tests.support.demo import PROMPT, find_free_port, get_demo
from tests.support.demoguests import eventually
from tests.support.kubectl import Kubectl
from tests.support.kubevirt import find_program
from tests.support.virtctl import PROGRAM as OUR_VIRTCTL
from tests.support.virtctl import TIMEOUT, Virtctl

from virtshape.api.model import JsonObject
from virtshape.launcher.images.demo.build import DemoGuest
from virtshape.launcher.images.errors import ImageError
from virtshape.launcher.node.requirements import find_missing_packages

PLACE = "guests"
NAME = "served"
START = sshd.START + "".join(guestagent.START.splitlines(keepends=True)[2:])
"""Script for the guest: unpack the second disk, and start an ssh server and the guest agent."""
BOOTED = "the agent runs"
BOOT_SECONDS = 600.0
pytestmark = pytest.mark.usefixtures("aggregated", "webhook")


@pytest.fixture(scope="module")
def demo(request: pytest.FixtureRequest) -> DemoGuest:
    """The files of the demo guest; skips on machines that cannot run guests."""
    if missing_packages := find_missing_packages():
        pytest.skip(f"guests cannot run: install {', '.join(missing_packages)}")
    return get_demo(request.config)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("virtctl")


@pytest.fixture(scope="module")
def node(
    installation: Installation, webhook: ComponentProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Node]:
    """A node that runs guests, with running controllers."""
    del webhook
    with installation.running("controller"), run_node(installation.plane, tmp_path_factory.mktemp("node")) as running:
        yield running


@pytest.fixture(scope="module")
def key(home: Path) -> Path:
    """An SSH key that the guest accepts."""
    path = shutil.which("ssh-keygen")
    if path is None:
        pytest.skip("ssh-keygen is not installed")
    subprocess.run([str(path), "-q", "-t", "ed25519", "-N", "", "-f", home / "key"], check=True)
    return home / "key"


@pytest.fixture(scope="module")
def guest(installation: Installation, node: Node, demo: DemoGuest, key: Path, home: Path) -> Iterator[Virtctl]:
    """virtctl in a namespace with a VM whose guest runs an ssh server and a guest agent."""
    installation.plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": PLACE}})
    virtctl = Virtctl(installation.plane.kubeconfig, home, PLACE)
    shutil.copy(demo.disk, node.find_claim(PLACE, "root"))
    shutil.copy(pack(home, key), node.find_claim(PLACE, "luggage"))
    kubectl = installation.kubectl.in_namespace(PLACE)
    kubectl.apply(build_claim("root"), build_claim("luggage"), build_guest(NAME, START, root="root", luggage="luggage"))
    wait_for_text(installation.plane, virtctl, node, NAME, BOOTED)
    yield virtctl
    kubectl("delete", "vm", NAME, "--timeout=240s")


@pytest.fixture(params=["virtshape", "kubevirt"])
def client(request: pytest.FixtureRequest, guest: Virtctl, installation: Installation, home: Path) -> Virtctl:
    """Our virtctl, then KubeVirt's own."""
    return guest if request.param == "virtshape" else open_kubevirts(installation, home, PLACE)


def open_kubevirts(installation: Installation, home: Path, namespace: str) -> Virtctl:
    """Return KubeVirt's own virtctl."""
    return Virtctl(installation.plane.kubeconfig, home, namespace, find_program("virtctl"))


def pack(home: Path, key: Path) -> Path:
    """Build an archive with an ssh server and a guest agent, and return its path; skip the test if that fails."""
    try:
        parts = (
            sshd.build_sshd(home / "sshd", key.with_suffix(".pub").read_text()),
            guestagent.build_agent(home / "agent"),
        )
    except ImageError as error:
        pytest.skip(str(error))
        raise
    seen: set[str] = set()
    with tarfile.open(home / "luggage.tar", "w") as packed:
        for part in parts:
            with tarfile.open(part) as opened:
                for member in opened:
                    if member.name not in seen:
                        packed.addfile(member, opened.extractfile(member) if member.isfile() else None)
                    seen.add(member.name)
    return home / "luggage.tar"


def build_claim(name: str) -> JsonObject:
    """Return a claim of 64Mi."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def build_guest(name: str, seed: str = "", **claims: str) -> JsonObject:
    """Return a VM with these claims as disks and with a script that its guest runs at boot."""
    volumes: list[JsonObject] = [
        {"name": disk, "persistentVolumeClaim": {"claimName": claim}} for disk, claim in claims.items()
    ]
    volumes += [{"name": "seed", "cloudInitNoCloud": {"userData": seed}}] if seed else []
    disks = [{"name": volume["name"], "disk": {"bus": "virtio"}} for volume in volumes]
    template = {
        "terminationGracePeriodSeconds": 20,
        "domain": {"memory": {"guest": "256Mi"}, "devices": {"disks": disks}},
        "volumes": volumes,
    }
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {"runStrategy": "Always", "template": {"spec": template}},
    }


def wait_for_text(plane: ControlPlane, virtctl: Virtctl, node: Node, name: str, text: str, times: int = 1) -> None:
    """Wait until a guest has printed this text on its console, and check that virtctl prints the text too."""
    path = f"/apis/subresources.kubevirt.io/v1/namespaces/{virtctl.namespace}/virtualmachineinstances/{name}/consolelog"

    def probe() -> bool | None:
        code, log = plane.request("GET", path)
        return (code == 200 and log.count(text) >= times) or None

    def describe() -> str:
        return f"no {text!r} of {name}: {virtctl.read_log(name)[-2000:]}\n{node.read_logs()}"

    # Each request starts a process in the pod, which takes CPU time that the guest needs.
    eventually(probe, describe, BOOT_SECONDS, pause=2.0)
    assert virtctl.read_log(name).count(text) >= times


def test_instance_status_has_the_machine_type_volumes_and_address(guest: Virtctl, installation: Installation) -> None:
    kubectl = installation.kubectl.in_namespace(guest.namespace)

    def look() -> JsonObject | None:
        status: JsonObject = kubectl.get("vmi", NAME)["status"]
        types = {one["type"] for one in status["conditions"] if one["status"] == "True"}
        return status if {"Ready", "AgentConnected"} <= types else None

    status = eventually(look, lambda: str(kubectl.get("vmi", NAME)["status"]), BOOT_SECONDS, pause=1.0)
    assert re.fullmatch(r"pc-q35-\d+\.\d+", status["machine"]["type"])
    volumes = {one["name"]: one.get("target") for one in status["volumeStatus"]}
    assert set(volumes) == {"root", "luggage", "seed"}
    assert all(volumes.values()), volumes
    assert status["interfaces"][0]["ipAddress"] == "10.1.2.3"


def test_virtctl_vnc_proxy_serves_the_vnc_protocol(client: Virtctl) -> None:
    process = client.start("vnc", NAME, "--proxy-only")
    assert process.stdout is not None
    port = next(json.loads(line)["port"] for line in process.stdout if '"port"' in line)
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT) as viewer:
        version = viewer.recv(12)
        assert re.fullmatch(rb"RFB 003\.\d{3}\n", version)
        viewer.sendall(version)
        count, *types = viewer.recv(256)
        assert (count, 1 in types) == (len(types), True), "VNC needs no password"
    assert process.wait(TIMEOUT) == 0
    process.communicate()


@pytest.mark.parametrize("time", ["once", "again"])
def test_user_runs_a_command_at_the_console(client: Virtctl, time: str) -> None:
    with client.open("console", NAME) as terminal:
        terminal.wait_for(rb"Successfully connected to served console")
        terminal.type(b"\r")
        terminal.wait_for(rb"demo# ")
        terminal.type(f"echo $((6 * 7)) {time}\r".encode())
        terminal.wait_for(rf"\r\n42 {time}\r\n".encode())
        terminal.type(b"\x1d")
        assert terminal.end() == 0
        assert terminal.is_restored()


def test_virtctl_forwards_a_port_into_the_guest(client: Virtctl) -> None:
    port = find_free_port()
    process = client.start("port-forward", f"vm/{NAME}", f"{port}:80")

    def probe() -> JsonObject | None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/shape.json", timeout=TIMEOUT) as answer:
                shape: JsonObject = json.load(answer)
                return shape
        except (OSError, http.client.HTTPException):  # virtctl does not listen, or the guest's network is not up yet
            return None

    assert eventually(probe, lambda: "the port is not open")["memoryMiB"] == 256
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0


def test_user_logs_in_with_ssh_and_copies_files(client: Virtctl, key: Path, tmp_path: Path) -> None:
    options: list[str | Path] = ["-i", key, "-t", "-o StrictHostKeyChecking=no", "--known-hosts", tmp_path / "known"]
    ran = client("ssh", f"root@vmi/{NAME}", *options, "-c", "cat /proc/sys/kernel/ostype; exit 7")
    is_ours = client.program == OUR_VIRTCTL
    assert (ran.status, ran.out) == (7 if is_ours else 1, "Linux\n"), (
        ran.err
    )  # KubeVirt's virtctl does not return the exit status of ssh
    (tmp_path / "letter").write_text("dear guest\n")
    sent = client("scp", *options, "-t", "-O", tmp_path / "letter", f"root@vm/{NAME}:/root/letter")
    assert sent.status == 0, sent.err
    fetched = client("scp", *options, "-t", "-O", f"root@vmi/{NAME}:/root/letter", tmp_path / "back")
    assert (fetched.status, (tmp_path / "back").read_text()) == (0, "dear guest\n"), fetched.err


def test_virtctl_prints_guest_agent_information(client: Virtctl) -> None:
    def ask(question: str) -> JsonObject:
        def probe() -> JsonObject | None:
            ran = client(question, NAME)
            reported: JsonObject | None = ran.tree if ran.status == 0 else None
            return reported

        return eventually(probe, lambda: client(question, NAME).err)  # retry until the agent answers

    assert ask("guestosinfo")["os"]["prettyName"] == "The demo guest 1"
    assert ask("userlist")["items"] == []
    (seed,) = [one for one in ask("fslist")["items"] if one["mountPoint"] == "/run/seed.d"]
    assert (seed["fileSystemType"], seed["diskName"]) == ("iso9660", "vdc")


def test_virtctl_pauses_and_unpauses_a_guest(installation: Installation, client: Virtctl) -> None:
    kubectl = installation.kubectl.in_namespace(PLACE)
    for action, status in (("pause", "Paused"), ("unpause", "Running")):
        assert client(action, "vm", NAME).out == f"VMI {NAME} was scheduled to {action}\n"
        kubectl("wait", f"vm/{NAME}", f"--for=jsonpath={{.status.printableStatus}}={status}", "--timeout=240s")


@pytest.mark.parametrize("action", ["soft-reboot", "reset"])
def test_soft_reboot_and_reset_do_not_replace_the_instance(
    installation: Installation, node: Node, guest: Virtctl, client: Virtctl, action: str
) -> None:
    kubectl, boots = installation.kubectl.in_namespace(PLACE), guest.read_log(NAME).count(BOOTED)
    uid = kubectl.get("vmi", NAME)["metadata"]["uid"]
    ran = client(action, NAME)
    assert (ran.status, ran.out) == (0, f"VMI {NAME} was scheduled to {action}\n"), ran.err
    wait_for_text(installation.plane, guest, node, NAME, BOOTED, boots + 1)
    assert kubectl.get("vmi", NAME)["metadata"]["uid"] == uid


@pytest.fixture
def cdi(installation: Installation, node: Node) -> Iterator[FakeCdi]:
    """A fake CDI that uses the claims of the node."""
    with run_fake_cdi(installation, node.find_claim) as running:
        yield running


def upload(virtctl: Virtctl, kind: str, image: Path) -> str:
    """Upload an image to a new claim or DataVolume and return the output."""
    defaults = ("--default-instancetype", "u1.nano", "--default-preference", "linux")
    return virtctl.print("image-upload", kind, "disk", "--size", "64Mi", "--image-path", image, *defaults)


@pytest.mark.parametrize("kind", ["pvc", "dv"])
def test_virtctl_uploads_an_image_through_cdi(
    installation: Installation, node: Node, cdi: FakeCdi, demo: DemoGuest, home: Path, kubectl: Kubectl, kind: str
) -> None:
    said = upload(Virtctl(installation.plane.kubeconfig, home, kubectl.namespace), kind, demo.disk)
    assert re.search(r"Uploading data to https://localhost:\d+\n", said)
    assert said.endswith(f"Processing completed successfully\nUploading {demo.disk} completed successfully\n")
    assert cdi.asked == [TokenRequest("admin", kubectl.namespace, "disk")]
    assert cdi.sent == [("disk", "/v1beta1/upload-async")]
    assert node.find_claim(kubectl.namespace, "disk").read_bytes() == demo.disk.read_bytes()
    made = kubectl.get(kind, "disk")
    if kind == "pvc":
        marks = made["metadata"]["annotations"]
        assert (marks[f"{STORAGE}.upload.target"], marks[f"{STORAGE}.contentType"]) == ("", "kubevirt")
    else:
        assert (made["spec"]["source"], made["spec"]["contentType"]) == ({"upload": {}}, "kubevirt")
    assert made["metadata"]["labels"]["instancetype.kubevirt.io/default-instancetype"] == "u1.nano"


@pytest.mark.usefixtures("cdi")
def test_kubevirts_own_virtctl_uploads_an_image(
    installation: Installation, node: Node, demo: DemoGuest, home: Path, kubectl: Kubectl
) -> None:
    virtctl = open_kubevirts(installation, home, kubectl.namespace)
    address = kubectl.get("cdiconfig", "config")["status"]["uploadProxyURL"]
    proxy = f"https://{address}"  # KubeVirt's virtctl adds no scheme to an address with a port
    options = ("--image-path", demo.disk, "--insecure", "--uploadproxy-url", proxy)
    ran = virtctl("image-upload", "dv", "disk", "--size", "64Mi", *options)
    assert (ran.status, f"Uploading {demo.disk} completed successfully" in ran.out) == (0, True), ran
    assert node.find_claim(kubectl.namespace, "disk").read_bytes() == demo.disk.read_bytes()


@pytest.mark.usefixtures("cdi")
def test_vm_boots_from_an_uploaded_image(
    installation: Installation, node: Node, demo: DemoGuest, home: Path, kubectl: Kubectl
) -> None:
    virtctl = Virtctl(installation.plane.kubeconfig, home, kubectl.namespace)
    upload(virtctl, "dv", demo.disk)
    vm = build_guest("booted")
    vm["spec"] |= {role: {"inferFromVolume": "root"} for role in ("instancetype", "preference")}
    vm["spec"]["template"]["spec"] |= {
        "domain": {"devices": {}},
        "volumes": [{"name": "root", "dataVolume": {"name": "disk"}}],
    }
    kubectl.apply(vm)
    assert kubectl.get("vm", "booted")["spec"]["instancetype"]["name"] == "u1.nano"
    wait_for_text(installation.plane, virtctl, node, "booted", PROMPT)
    kubectl("delete", "vm", "booted", "--timeout=240s")


def test_objects_of_an_upload_rejected_by_the_proxy_are_deleted(
    installation: Installation, cdi: FakeCdi, home: Path, kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "disk.img").write_bytes(b"image")
    monkeypatch.setattr(cdi, "find_request", lambda _: None)
    virtctl = Virtctl(installation.plane.kubeconfig, home, kubectl.namespace)
    ran = virtctl("image-upload", "pvc", "disk", "--size", "64Mi", "--image-path", home / "disk.img")
    assert (ran.status, "unexpected return value 401" in ran.err) == (1, True), ran.err
    assert ran.out.endswith(f"PersistentVolumeClaim {kubectl.namespace}/disk deleted\n")
    eventually(lambda: not kubectl.get("pvc")["items"] or None, lambda: "the claim was not deleted")

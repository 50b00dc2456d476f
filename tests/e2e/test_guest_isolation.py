"""Guests reach the internet, but neither the machine that runs them nor each other."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.support.demoguests import Guests, build_guest, eventually
from tests.support.netns import INTERNET, MACHINE, OTHER_MACHINE, isolate_network, serve_directory, serve_dns
from tests.support.upprocess import System

from virtshape.api.model import JsonObject
from virtshape.launcher.images.demo.build import DemoGuest

LOCAL_PORT = 8001
DNS_ADDRESS = "127.0.0.53"
NAMED = "192.0.2.77"
ATTACK = """\
#!/bin/sh
until ip addr show dev eth0 | grep -q 10.0.2.15; do sleep 1; done
reach() {{
    {{ printf 'GET / HTTP/1.0\\r\\n\\r\\n'; sleep 5; }} | busybox nc -w 5 "$1" "$2" | grep -q .
}}
try() {{
    if reach "$2" "$3"; then echo "attack: reached $1"; else echo "attack: no way to $1"; fi
}}
again() {{ # on a busy machine, the first responses may be too late
    for attempt in 1 2 3 4; do "$@" && return; done
}}
if again reach {internet} 80; then echo "attack: reached internet"; else echo "attack: no way to internet"; fi
try api 10.0.2.2 {api}
try loopback 10.0.2.2 {local}
try resolver-as-web 10.0.2.3 {local}
try neighbour 10.0.2.2 {neighbour}
try machine {machine} {local}
try machine-again {other} {local}
again busybox nslookup -type=a name.test 10.0.2.3
echo "attack: over"
"""
CLOSED = ("api", "loopback", "resolver-as-web", "neighbour", "machine", "machine-again")


def build_victim() -> JsonObject:
    """Return a VM whose guest runs a web server, with its port open on the machine's loopback address."""
    interface = {"name": "default", "masquerade": {}, "ports": [{"port": 80}]}
    tree = build_guest("victim", domain={"devices": {"interfaces": [interface]}})
    tree["spec"]["template"]["spec"]["networks"] = [{"name": "default", "pod": {}}]
    return tree


def build_attacker(script: str) -> JsonObject:
    disks = [{"name": name, "disk": {"bus": "virtio"}} for name in ("root", "seed")]
    seed = {"name": "seed", "cloudInitNoCloud": {"userData": script}}
    return build_guest("attacker", domain={"devices": {"disks": disks}}, volumes=[seed])


@pytest.fixture
def isolated(demo: DemoGuest, tmp_path: Path) -> Iterator[Guests]:
    """A server in a separate network namespace, with a resolver on loopback."""
    data = tmp_path / "data"
    (data / "images" / "demo").mkdir(mode=0o700, parents=True)
    for path in demo:
        shutil.copy(path, data / "images" / "demo")
    pages = tmp_path / "pages"
    with (
        isolate_network(tmp_path, DNS_ADDRESS),
        serve_dns(DNS_ADDRESS, NAMED),
        serve_directory(pages, "0.0.0.0", LOCAL_PORT),  # noqa: S104 - of the test's own namespace
        System(data, "--launcher", "qemu") as system,
    ):
        running = Guests(system)
        yield running
        running.delete_all()


def attack(guests: Guests) -> str:
    """Run a guest that tries to reach every address, and return its output."""
    guests.create(build_victim())
    neighbour = guests.wait_for_ports("victim")[80].rpartition(":")[2]
    guests.read_now("victim")
    api = urlsplit(guests.system.url).port
    script = ATTACK.format(
        internet=INTERNET, api=api, local=LOCAL_PORT, neighbour=neighbour, machine=MACHINE, other=OTHER_MACHINE
    )
    guests.create(build_attacker(script))
    return guests.wait_for_text("attacker", "attack: over")


@pytest.fixture
def broken_pasta(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Replace pasta with a program that fails."""
    with tempfile.TemporaryDirectory(prefix="broken-") as name:
        program = Path(name) / "pasta"
        program.parent.chmod(0o755)
        program.write_text("#!/bin/sh\necho it is broken >&2\nexit 1\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        yield


@pytest.mark.usefixtures("broken_pasta")
def test_guest_has_no_network_access_if_its_network_namespace_cannot_be_created(isolated: Guests) -> None:
    reported = attack(isolated)
    assert [name for name in ("internet", *CLOSED) if f"attack: no way to {name}\n" not in reported] == [], reported
    message = isolated.wait_for_condition("attacker", "StandIn")["message"]
    assert "outgoing traffic is blocked" in message
    assert "starting pasta failed" in message
    conditions = {one["type"]: one for one in isolated.wait_for_node()["status"]["conditions"]}
    assert conditions["GuestNetworkReady"]["status"] == "False"


def test_guest_reaches_the_internet_but_neither_the_machine_nor_another_guest(isolated: Guests) -> None:
    reported = attack(isolated)
    assert "attack: reached internet" in reported
    assert f"Address: {NAMED}" in reported
    assert [name for name in CLOSED if f"attack: no way to {name}\n" not in reported] == [], reported


def build_probed(name: str, host: str, port: int) -> JsonObject:
    """Return a VM with a readiness probe that connects to another host."""
    tree = build_guest(name)
    probe = {"httpGet": {"host": host, "port": port}, "periodSeconds": 1, "timeoutSeconds": 5}
    tree["spec"]["template"]["spec"]["readinessProbe"] = probe
    return tree


def wait_for_readiness(guests: Guests, name: str, status: str, message: str = "") -> None:
    """Wait until the condition Ready of an instance has this status and a message that contains this text."""

    def check() -> bool | None:
        ready = guests.conditions(name).get("Ready", {})
        return (ready.get("status") == status and message in ready.get("message", "")) or None

    eventually(check, lambda: f"{name} is not {status}: {guests.conditions(name)}")


def test_probe_reaches_the_internet_but_not_the_host(isolated: Guests) -> None:
    closed = {"loopback": "127.0.0.1", "gateway": "10.0.2.2", "machine": MACHINE}
    for name, host in closed.items():
        isolated.create(build_probed(name, host, LOCAL_PORT))
    isolated.create(build_probed("internet", INTERNET, 80))
    for name in closed:
        wait_for_readiness(isolated, name, "False", "readiness probe failed")
    wait_for_readiness(isolated, "internet", "True")
    assert {isolated.conditions(name)["Ready"]["status"] for name in closed} == {"False"}


@pytest.mark.usefixtures("broken_pasta")
def test_probe_of_another_host_is_refused_without_a_network_namespace(isolated: Guests) -> None:
    isolated.create(build_probed("probed", "127.0.0.1", LOCAL_PORT))
    isolated.wait_for_event_text("probed", "is not possible for a guest without its own network namespace")

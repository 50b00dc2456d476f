"""Lifecycle of the demo guest as its launcher process reports it: shutdown, reboot, panic and network."""

import asyncio
import json
import socket
from http.client import HTTPResponse
from pathlib import Path

import pytest
from tests.support.demo import get_demo
from tests.support.guests import BOOT_TIMEOUT, PROMPT, TIMEOUT, require_qemu, run_guests

from virtshape.api.model import JsonObject
from virtshape.launcher.controlprotocol import Connect, SoftReboot


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_qemu()
    return tmp_path_factory.mktemp("lives") / "data"


def fetch(connection: socket.socket) -> bytes:
    with connection:
        connection.settimeout(TIMEOUT)
        connection.sendall(b"GET /shape.json HTTP/1.0\r\n\r\n")
        answer = HTTPResponse(connection)
        answer.begin()
        return answer.read()


async def test_guest_serves_its_port_restarts_and_shuts_down_gracefully(
    data: Path, pytestconfig: pytest.Config
) -> None:
    async with run_guests(data) as harness:
        uid = await harness.boot(get_demo(pytestconfig).disk)
        shape = await harness.read_shape(uid)
        await harness.read_until(uid, "eth0 has 10.0.2.15")
        connection = await harness.guests.connect(uid, Connect(port=80))
        assert json.loads(await asyncio.to_thread(fetch, connection))["uuid"] == shape["uuid"]
        assert (await harness.guests.ask(uid, SoftReboot())).error == ""
        await harness.read_until(uid, PROMPT, times=2)
        assert harness.report(uid).state == "running"
        await harness.guests.stop(uid, grace=TIMEOUT)
        ended = await harness.wait_for_end(uid)
        assert (ended.state, ended.reason, ended.exit_code) == ("succeeded", "GuestShutDown", 0)


async def test_powered_off_guest_is_reported_as_succeeded(data: Path, pytestconfig: pytest.Config) -> None:
    async with run_guests(data) as harness:
        uid = await harness.boot(get_demo(pytestconfig).disk)
        await harness.type(uid, "poweroff -f")
        ended = await harness.wait_for_end(uid)
        assert (ended.state, ended.reason, ended.message) == (
            "succeeded",
            "GuestShutDown",
            "the guest has shut down",
        )


async def test_panicked_guest_is_reported_as_failed(data: Path, pytestconfig: pytest.Config) -> None:
    async with run_guests(data) as harness:
        domain = {"devices": {"panicDevices": [{"model": "isa"}]}, "memory": {"guest": "256Mi"}}
        uid = await harness.boot(get_demo(pytestconfig, "full").disk, domain)
        await harness.type(uid, "echo c >/proc/sysrq-trigger")
        ended = await harness.wait_for_end(uid)
        assert (ended.state, ended.reason) == ("failed", "GuestPanicked")


async def test_guest_is_ready_while_its_readiness_probe_succeeds(data: Path, pytestconfig: pytest.Config) -> None:
    times = {"periodSeconds": 1, "timeoutSeconds": 5}
    spec: JsonObject = {
        "readinessProbe": {"tcpSocket": {"port": 80}, **times},
        "terminationGracePeriodSeconds": 0,
    }

    async with run_guests(data) as harness:
        uid = await harness.start(None, get_demo(pytestconfig).disk, **spec)
        assert harness.report(uid).unready
        await harness.wait(uid, lambda report: not report.unready, BOOT_TIMEOUT)
        await harness.read_until(uid, PROMPT)
        await harness.type(uid, "killall httpd")
        text = "readiness probe failed: the guest does not listen on port 80"
        unready = await harness.wait(uid, lambda report: report.unready == text)
        assert unready.state == "running"


async def test_guest_with_a_failing_liveness_probe_is_killed(data: Path) -> None:
    probe = {"tcpSocket": {"port": 9}, "periodSeconds": 1, "failureThreshold": 2}

    async with run_guests(data) as harness:
        uid = await harness.start(livenessProbe=probe, terminationGracePeriodSeconds=0)
        ended = await harness.wait_for_end(uid)
        assert (ended.state, ended.reason) == ("failed", "NotAlive")

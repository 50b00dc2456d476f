"""Consoles, VNC and ports of guests over real connections with the API client."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.echoguests import CHARGEN, CHARGEN_BYTES, DISCARD, ECHO, GREETING, HELLO
from tests.support.rbac import build_binding
from tests.support.streamsetup import NAMESPACE, StreamSetup, open_stream_setup, wait_until

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.rbac import RoleBinding
from virtshape.api.status import StatusError
from virtshape.client.actions import Resource, request_action
from virtshape.client.guests import open_console, open_port, open_vnc, query_agent, read_console_log
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
from virtshape.client.overrides import Overrides, override_access
from virtshape.stream.duplex import GOING_AWAY, TAKEN_OVER, StreamClosed
from virtshape.stream.websocket import WebSocket

VIRTUAL_MACHINE_INSTANCES: Resource = "virtualmachineinstances"
VIRTUAL_MACHINES: Resource = "virtualmachines"


async def read_all(socket: WebSocket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        data += await socket.read()
    return bytes(data)


async def test_console_sends_output_and_receives_input(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:
        console = await open_console(setup.transport, NAMESPACE, "web")
        assert await console.read() == HELLO
        await console.write(b"root\r")
        assert await console.read() == b"root\r"
        await console.close()
        await wait_until(lambda: setup.guests.open_consoles == 0)


async def test_second_client_takes_over_the_console(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web", "db") as setup:
        first = await open_console(setup.transport, NAMESPACE, "web")
        other = await open_console(setup.transport, NAMESPACE, "db")
        assert (await first.read(), await other.read()) == (HELLO, HELLO)
        second = await open_console(setup.transport, NAMESPACE, "web")
        with pytest.raises(StreamClosed, match="another client connected to the console of web") as caught:
            await first.read()
        assert caught.value.code == TAKEN_OVER
        assert await second.read() == HELLO
        await other.write(b"still here")
        assert await other.read() == b"still here"
        await wait_until(lambda: setup.guests.open_consoles == 2)
        for console in (first, second, other):
            await console.close()


async def test_only_one_of_many_concurrent_clients_stays_connected_to_the_console(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:
        opening = [open_console(setup.transport, NAMESPACE, "web") for _ in range(10)]
        consoles = await asyncio.gather(*opening)
        assert setup.guests.open_consoles <= 1
        await wait_until(lambda: setup.guests.open_consoles == 1)
        reading = [asyncio.create_task(_read_to_the_end(console)) for console in consoles]
        await wait_until(lambda: sum(task.done() for task in reading) == 9)
        ended, (last,) = await asyncio.wait(reading, timeout=1)
        assert [task.result() for task in ended] == [TAKEN_OVER] * 9
        last.cancel()
        await asyncio.gather(*(console.close() for console in consoles))


async def _read_to_the_end(console: WebSocket) -> int:
    """Read to the end and return the close code."""
    try:
        while await console.read():
            pass
    except StreamClosed as end:
        return end.code
    return 0


async def test_console_stream_closes_when_the_guest_stops(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:
        console = await open_console(setup.transport, NAMESPACE, "web")
        await console.write(b"poweroff")
        assert await read_all(console, len(HELLO) + 8) == HELLO + b"poweroff"
        assert await console.read() == b""
        await console.close()


async def test_console_ends_after_the_permission_of_its_client_is_removed(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:
        client = setup.system.client
        await client.create(build_binding("User/ann", "ClusterRole/kubevirt.io:edit", NAMESPACE, name="ann"))
        access = override_access(get_access(path=str(setup.system.kubeconfig)), Overrides(as_="ann"))
        transport = HttpTransport(access)
        console = await open_console(transport, NAMESPACE, "web")
        assert await console.read() == HELLO
        await client.delete(RoleBinding, "ann", NAMESPACE)
        assert await _read_to_the_end(console) != TAKEN_OVER
        await wait_until(lambda: setup.guests.open_consoles == 0)
        with pytest.raises(StatusError) as refused:
            await open_console(transport, NAMESPACE, "web")
        assert refused.value.code == 403
        await transport.close()


async def test_second_vnc_client_takes_over_the_session(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:
        first = await open_vnc(setup.transport, NAMESPACE, "web")
        assert await first.read() == GREETING
        console = await open_console(setup.transport, NAMESPACE, "web")
        second = await open_vnc(setup.transport, NAMESPACE, "web")
        with pytest.raises(StreamClosed, match="another client connected to the screen"):
            await first.read()
        assert await second.read() == GREETING
        await asyncio.gather(first.close(), second.close(), console.close())


@pytest.mark.parametrize("resource", [VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
async def test_guest_port_is_reachable_through_a_stream(tmp_path: Path, resource: Resource, protocol: str) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:
        await _create_vm(setup, "web")
        port = await open_port(setup.transport, NAMESPACE, resource, "web", ECHO, protocol)
        for message in (b"one", b"two" * 300):
            await port.write(message)
            assert await port.read() == message
        await port.close()


async def _create_vm(setup: StreamSetup, name: str) -> None:
    template = {"spec": {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}}}
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"runStrategy": "Halted", "template": template},
    }
    await setup.system.client.create(from_tree(vm, VirtualMachine))


async def test_large_port_transfers_are_complete_in_both_directions(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:
        port = await open_port(setup.transport, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", ECHO)
        piece = os.urandom(1024 * 1024)

        async def send() -> None:
            for _ in range(32):
                await port.write(piece)

        sending = asyncio.create_task(send())
        assert await read_all(port, 32 * len(piece)) == piece * 32
        await sending
        await port.close()


async def test_slow_client_throttles_the_guest_without_data_loss(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:
        port = await open_port(setup.transport, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", CHARGEN)
        await asyncio.sleep(0.5)
        held = sum(connection._transport.get_write_buffer_size() for connection in setup.system.connections)  # noqa: SLF001
        assert held < 1024 * 1024
        size = 0
        while data := await port.read():
            size += len(data)
        assert size == CHARGEN_BYTES
        await port.close()


async def test_slow_guest_throttles_its_client_without_blocking_other_clients(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:
        port = await open_port(setup.transport, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", DISCARD)
        sent = 0
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                while True:
                    await port.write(b"x" * 65536)
                    sent += 65536
        assert sent < 64 * 1024 * 1024
        console = await open_console(setup.transport, NAMESPACE, "web")
        assert await console.read() == HELLO
        await asyncio.gather(console.close(), port.close(seconds=0.1))


async def test_stream_data_sent_before_a_close_is_delivered(tmp_path: Path) -> None:
    taken = asyncio.Event()
    got = bytearray()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(4096):
            got.extend(data)
            await asyncio.sleep(0.001)
        taken.set()
        writer.close()

    async with (
        open_stream_setup(tmp_path, "web") as setup,
        await asyncio.start_server(talk, "127.0.0.1", 0) as server,
    ):
        setup.guests.ports[25, "tcp"] = server.sockets[0].getsockname()[1]
        port = await open_port(setup.transport, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", 25)
        await port.write(b"y" * 500_000)
        await port.close()
        await taken.wait()
        assert len(got) == 500_000


async def test_many_streams_run_concurrently(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:

        async def talk(number: int) -> None:
            port = await open_port(setup.transport, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", ECHO)
            for turn in range(20):
                message = b"%d-%d" % (number, turn)
                await port.write(message)
                assert await port.read() == message
            await port.close()

        await asyncio.gather(*(talk(number) for number in range(100)))
        await wait_until(lambda: len(setup.system.connections) <= 2)


async def test_server_shutdown_closes_streams_with_a_reason(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:
        streams = [
            await open_console(setup.transport, NAMESPACE, "web"),
            await open_port(setup.transport, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", ECHO),
        ]
        await streams[0].read()
    for stream in streams:
        with pytest.raises(StreamClosed, match="the server is stopping") as caught:
            await stream.read()
        assert caught.value.code == GOING_AWAY
        await stream.close()


async def test_stream_of_an_aborted_client_is_closed(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:
        console = await open_console(setup.transport, NAMESPACE, "web")
        await console.read()
        assert setup.guests.open_consoles == 1
        console.abort()
        await wait_until(lambda: setup.guests.open_consoles == 0)
        with pytest.raises(StreamClosed, match="was lost"):
            await console.read()


async def test_unresponsive_client_is_disconnected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("virtshape.apiserver.websocketrelay.PING_SECONDS", 0.1)
    monkeypatch.setattr("virtshape.apiserver.websocketrelay.SILENCE_SECONDS", 3.0)

    async with open_stream_setup(tmp_path, "web") as setup:
        alive = await open_port(setup.transport, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", ECHO)
        silent = await open_console(setup.transport, NAMESPACE, "web")
        silent._transport.pause_reading()  # noqa: SLF001 - as if its process had been stopped
        await wait_until(lambda: setup.guests.open_consoles == 1)
        await wait_until(lambda: setup.guests.open_consoles == 0)
        await alive.write(b"pong")
        assert await alive.read() == b"pong"
        await alive.close()
        silent.abort()


Ask = Callable[[StreamSetup], Awaitable[Any]]

REFUSED: dict[str, tuple[dict[str, Any], Ask, int, str]] = {
    "console of a missing instance": ({}, lambda v: open_console(v.transport, NAMESPACE, "no"), 404, '"no" not found'),
    "console before the start": (
        {"phase": "Scheduling"},
        lambda v: open_console(v.transport, NAMESPACE, "web"),
        400,
        "VMI is not running",
    ),
    "console of a failed instance": (
        {"phase": "Failed"},
        lambda v: open_console(v.transport, NAMESPACE, "web"),
        409,
        "VMI is in failed status",
    ),
    "instance without a console": (
        {"devices": {"autoattachSerialConsole": False}},
        lambda v: open_console(v.transport, NAMESPACE, "web"),
        400,
        "No serial consoles are present",
    ),
    "instance without VNC": (
        {"devices": {"autoattachGraphicsDevice": False}},
        lambda v: open_vnc(v.transport, NAMESPACE, "web"),
        400,
        "No graphics devices are present",
    ),
    "VNC before the start": (
        {"phase": "Pending"},
        lambda v: open_vnc(v.transport, NAMESPACE, "web"),
        400,
        "VMI is not running",
    ),
    "port of a paused instance": (
        {"conditions": ["Paused"]},
        lambda v: open_port(v.transport, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", ECHO),
        409,
        "VMI is paused",
    ),
    "port of an ended instance": (
        {"phase": "Succeeded"},
        lambda v: open_port(v.transport, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", ECHO),
        400,
        "VMI is not running",
    ),
    "port of a missing VM": (
        {},
        lambda v: open_port(v.transport, NAMESPACE, VIRTUAL_MACHINES, "web", ECHO),
        404,
        'virtualmachine.kubevirt.io "web" not found',
    ),
    "closed port": (
        {},
        lambda v: open_port(v.transport, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", 1),
        500,
        "the guest cannot be reached",
    ),
    "port out of range": (
        {},
        lambda v: open_port(v.transport, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", 70000),
        400,
        'invalid port "70000"',
    ),
    "unsupported protocol": (
        {},
        lambda v: open_port(v.transport, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", ECHO, "sctp"),
        400,
        'unsupported protocol "sctp"',
    ),
    "no agent": (
        {},
        lambda v: query_agent(v.system.client, NAMESPACE, "web", "userlist"),
        409,
        "VMI does not have guest agent connected",
    ),
    "agent before the start": (
        {"phase": "Scheduling"},
        lambda v: query_agent(v.system.client, NAMESPACE, "web", "guestosinfo"),
        409,
        "VMI is not running",
    ),
    "failing pause": (
        {"name": "stubborn"},
        lambda v: request_action(v.system.client, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "stubborn", "pause"),
        500,
        "the guest does not listen",
    ),
}


@pytest.mark.parametrize(("guest", "ask", "code", "message"), REFUSED.values(), ids=REFUSED)
async def test_impossible_stream_requests_are_rejected_with_a_reason(
    tmp_path: Path, guest: dict[str, Any], ask: Ask, code: int, message: str
) -> None:
    async with open_stream_setup(tmp_path) as setup:
        await setup.run_guest(**guest)
        with pytest.raises(StatusError) as caught:
            await ask(setup)
        assert (caught.value.code, message in caught.value.message) == (code, True), caught.value.message


@pytest.mark.parametrize(
    "ask",
    [
        lambda v: open_console(v.transport, NAMESPACE, "web"),
        lambda v: open_port(v.transport, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", ECHO),
        lambda v: request_action(v.system.client, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", "pause"),
        lambda v: read_console_log(v.system.client, NAMESPACE, "web"),
    ],
    ids=["console", "port", "action", "log"],
)
async def test_guest_request_without_a_launcher_returns_503(tmp_path: Path, ask: Ask) -> None:
    async with open_stream_setup(tmp_path, "web", with_streams=False) as setup:
        with pytest.raises(StatusError, match="no launcher is running") as caught:
            await ask(setup)
        assert caught.value.code == 503


async def test_actions_are_sent_to_the_guest_except_in_a_dry_run(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:
        client = setup.system.client
        await request_action(client, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", "pause", {"dryRun": ["All"]})
        assert setup.guests.acted == []
        await request_action(client, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", "pause")
        await request_action(client, NAMESPACE, VIRTUAL_MACHINE_INSTANCES, "web", "reset")
        assert setup.guests.acted == [("web", "pause"), ("web", "reset")]


async def test_agent_queries_and_console_log_are_served(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path) as setup:
        await setup.run_guest(conditions=["AgentConnected"])
        client = setup.system.client
        assert await query_agent(client, NAMESPACE, "web", "guestosinfo") == {
            "hostname": "web",
            "asked": "guestosinfo",
        }
        assert await read_console_log(client, NAMESPACE, "web") == b"Booting web\r\n\xff\x00done\r\n"


async def test_guest_streams_are_in_the_audit_log(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:
        console = await open_console(setup.transport, NAMESPACE, "web")
        await console.close()
        with pytest.raises(StatusError):
            await open_console(setup.transport, NAMESPACE, "no")
        for text in ('"code":101', '"code":404', '"subresource":"console"'):
            await wait_until(lambda text=text: text in setup.audit_log)

"""Misbehaving clients use bounded memory and do not affect other clients."""

import contextlib
import json
from collections.abc import Iterator

import pytest
from tests.e2e.memory import RawConnection, measure_growth
from tests.support.memory import MIB
from tests.support.upprocess import System

CONFIGS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A server with 16 ConfigMaps of almost 1 MiB."""
    with System(tmp_path_factory.mktemp("loaded") / "data") as running:
        for number in range(16):
            tree = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": f"large-{number}"}}
            assert running.request("POST", CONFIGS, {**tree, "data": {"a": "x" * 1_000_000}})[0] == 201
        running.request("GET", CONFIGS)
        yield running


@pytest.fixture
def raw(loaded: System) -> Iterator[RawConnection]:
    with contextlib.closing(RawConnection(loaded)) as connection:
        yield connection


def test_pipelined_requests_wait_while_their_responses_are_not_read(loaded: System, raw: RawConnection) -> None:
    request = raw.format(b"GET", f"{CONFIGS}/large-1".encode())
    with measure_growth(loaded, pause_seconds=3.0) as growth:
        raw.send_until_blocked(request * 600)
    assert growth.mib < 24


def test_pipelined_requests_are_all_answered_once_their_responses_are_read(raw: RawConnection) -> None:
    last = raw.format(b"GET", b"/version", b"connection: close")
    raw.send_until_blocked(raw.format(b"GET", f"{CONFIGS}/large-1".encode()) * 30 + last)
    data = raw.read_slowly(1.0, 2 * MIB)
    assert (data.count(b"HTTP/1.1 200 OK"), len(data) > 30_000_000) == (31, True)


@pytest.mark.parametrize("target", [b"/version", b"/api/v1/secrets"])
def test_pipelined_requests_without_credentials_wait(loaded: System, raw: RawConnection, target: bytes) -> None:
    request = b"GET %b HTTP/1.1\r\nhost: x\r\n\r\n" % target
    with measure_growth(loaded, pause_seconds=3.0) as growth:
        sent = raw.send_until_blocked(request * (10 * MIB // len(request)))
    assert growth.mib < 16
    assert sent < 8 * MIB


def test_large_bodies_are_not_read_from_clients_without_credentials(loaded: System) -> None:
    head = b"POST %b HTTP/1.1\r\nhost: x\r\n%b\r\n\r\n"
    declared = head % (CONFIGS.encode(), b"content-length: 3000000")
    chunked = head % (CONFIGS.encode(), b"transfer-encoding: chunked") + b"%x\r\n" % 3_000_000
    connections = [RawConnection(loaded) for _ in range(40)]
    with measure_growth(loaded) as growth:
        for number, connection in enumerate(connections):
            connection.send_until_blocked((declared, chunked)[number % 2] + b"x" * 2_900_000, 0.5)
    assert growth.mib < 60  # 1.5 MiB per connection: TLS buffers, and 64 KiB of the body
    answers = [connection.socket.recv(4096) for connection in connections[:2]]
    assert [answer.split(b"\r\n")[0] for answer in answers] == [b"HTTP/1.1 401 Unauthorized"] * 2
    for connection in connections:
        connection.close()


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(b"GET / HTTP/1.1\r\nx: ", id="header"),
        pytest.param(b"GET / HTTP/1.1\r\n", id="header name"),
        pytest.param(b"POST /api HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: ", id="trailer"),
        pytest.param(b"POST /api HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n5;x=", id="chunk extension"),
    ],
)
def test_endless_header_trailer_or_chunk_extension_is_rejected(
    loaded: System, raw: RawConnection, start: bytes
) -> None:
    with measure_growth(loaded) as growth:
        raw.send_until_blocked(start + b"x" * 40 * MIB, 1.0)
    assert growth.mib < 8
    assert raw.socket.recv(4096).split(b"\r\n")[0].split()[1] in (b"431", b"400")


def test_slow_client_gets_the_complete_last_response(raw: RawConnection) -> None:
    raw.socket.sendall(raw.format(b"GET", CONFIGS.encode(), b"connection: close"))
    data = raw.read_slowly(4.0, 3 * MIB)
    head, _, body = data.partition(b"\r\n\r\n")
    assert b"connection: close" in head
    assert len(json.loads(body)["items"]) == 16


def _grow(system: System, count: int) -> None:
    """Update an object of almost 1 MiB `count` times."""
    for number in range(count):
        tree = {"data": {"a": f"{number:04}" + "x" * 990_000}}
        code, _ = system.request(
            "PATCH", f"{CONFIGS}/large-2", tree, **{"Content-Type": "application/merge-patch+json"}
        )
        assert code == 200


def test_unread_watches_of_history_use_little_memory(loaded: System) -> None:
    _, listed = loaded.request("GET", f"{CONFIGS}?limit=1")
    since = listed["metadata"]["resourceVersion"]
    _grow(loaded, 40)
    connections = [RawConnection(loaded) for _ in range(8)]
    with measure_growth(loaded, pause_seconds=3.0) as growth:
        for connection in connections:
            path = f"{CONFIGS}?watch=true&resourceVersion={since}".encode()
            connection.socket.sendall(connection.format(b"GET", path))
    for connection in connections:
        connection.close()
    assert growth.mib < 8 * 16  # without a limit, each watch uses 40 MiB


def test_unread_watches_of_existing_objects_use_little_memory(loaded: System) -> None:
    connections = [RawConnection(loaded) for _ in range(20)]
    with measure_growth(loaded, pause_seconds=3.0) as growth:
        for connection in connections:
            connection.socket.sendall(connection.format(b"GET", f"{CONFIGS}?watch=true".encode()))
    for connection in connections:
        connection.close()
    assert growth.mib < 20 * 8  # without a limit, each watch uses 16 to 48 MiB


def test_small_yaml_body_cannot_use_much_memory(loaded: System) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: &x " + "y" * 70_000 + "}\n"
    text += "binaryData: [" + "*x," * 1300 + "]\n"
    with measure_growth(loaded) as growth, contextlib.closing(loaded.connect()) as connection:
        headers = {"Authorization": f"Bearer {loaded.config['token']}", "Content-Type": "application/yaml"}
        connection.request("POST", CONFIGS, text.encode(), headers)
        assert connection.getresponse().status == 400
    assert growth.mib < 16

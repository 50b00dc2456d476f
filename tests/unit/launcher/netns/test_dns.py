"""DNS relay for guests on a machine that runs its own resolver."""

import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from virtshape.launcher.netns import dns
from virtshape.launcher.netns.dns import MAX_PENDING, Relay, find_local_resolver

OWN = [ipaddress.ip_address("198.51.100.2")]
QUERY = b"\x12\x34\x01\x00" + bytes(8) + b"\x04name\x04test\x00\x00\x01\x00\x01"
PATIENCE = 240.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("nameserver 127.0.0.53\n", "127.0.0.53", id="loopback"),
        pytest.param("search test\nnameserver ::1\n", "::1", id="loopback of IPv6"),
        pytest.param("nameserver 198.51.100.2\n", "198.51.100.2", id="address of the machine"),
        pytest.param("nameserver 203.0.113.5\nnameserver 127.0.0.1\n", None, id="another machine first"),
        pytest.param("# nameserver 127.0.0.1\n", None, id="a comment"),
        pytest.param("nameserver nonsense\nnameserver 127.0.0.1\n", "127.0.0.1", id="invalid line first"),
    ],
)
def test_first_name_server_is_returned_only_if_it_is_on_this_machine(
    tmp_path: Path, text: str, expected: str | None
) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text(text)
    assert find_local_resolver(OWN, path) == (ipaddress.ip_address(expected) if expected else None)


def test_machine_without_resolv_conf_has_no_local_resolver(tmp_path: Path) -> None:
    assert find_local_resolver(OWN, tmp_path / "resolv.conf") is None


@pytest.fixture
def resolver() -> Iterator[socket.socket]:
    """A name server on a loopback port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.settimeout(PATIENCE)
        yield listening


def open_relay(resolver: socket.socket, directory: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Relay, int]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    monkeypatch.setattr(dns, "DNS_PORT", port)
    relay = Relay(ipaddress.ip_address("127.0.0.1"), resolver.getsockname()[1])
    assert relay.open(directory).read_text() == "nameserver 127.0.0.1\n"
    relay.start()
    return relay, port


def test_dns_query_is_relayed_and_its_response_has_the_original_id(
    resolver: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, port = open_relay(resolver, tmp_path, monkeypatch)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(PATIENCE)
        client.sendto(b"short", ("127.0.0.1", port))
        client.sendto(QUERY, ("127.0.0.1", port))
        passed, relay = resolver.recvfrom(512)
        assert passed[2:] == QUERY[2:]
        resolver.sendto(b"\x00\x00" if passed[:2] != b"\x00\x00" else b"\x00\x01", relay)  # has an unknown query ID
        resolver.sendto(passed[:2] + b"\x81\x80the answer", relay)
        assert client.recv(512) == QUERY[:2] + b"\x81\x80the answer"


def test_number_of_pending_dns_queries_is_limited(
    resolver: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relay, port = open_relay(resolver, tmp_path, monkeypatch)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for _ in range(MAX_PENDING * 2):
            client.sendto(QUERY, ("127.0.0.1", port))
            resolver.recv(512)
    assert relay.pending <= MAX_PENDING

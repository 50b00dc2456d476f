"""Addresses that imports may connect to."""

import socket
from ipaddress import ip_address
from typing import Any

import pytest
from tests.support.webserver import Request, Response, serve, serve_file

from virtshape.launcher.images.addresses import ForbiddenAddressError, is_permitted
from virtshape.launcher.images.web import Access, request
from virtshape.launcher.netns.blockedaddresses import METADATA_SERVICES

LOOPBACK = ("127.0.0.0/8",)
PUBLIC = ["1.1.1.1", "9.255.255.255", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
SPECIAL = [
    *("0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1"),  # noqa: S104 - binds nothing
    *("172.31.255.255", "192.0.0.1", "192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255"),
    *("::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "fe80::1", "fc00::1", "fd12::1"),
    *("ff02::1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:1::1", "2001:db8::1", "100::1"),
]


@pytest.mark.parametrize("text", PUBLIC)
def test_imports_from_public_addresses_are_permitted(text: str) -> None:
    assert is_permitted(ip_address(text))


@pytest.mark.parametrize("text", SPECIAL)
def test_imports_from_special_addresses_are_refused(text: str) -> None:
    assert not is_permitted(ip_address(text))


@pytest.mark.parametrize(
    ("text", "allowed", "permitted"),
    [
        ("127.0.0.1", LOOPBACK, True),
        ("::ffff:127.0.0.1", LOOPBACK, True),
        ("10.0.0.1", LOOPBACK, False),
        ("10.0.0.1", ("127.0.0.0/8", "10.0.0.0/24"), True),
        ("10.0.1.1", ("127.0.0.0/8", "10.0.0.0/24"), False),
        ("fd00::1", ("fd00::/8",), True),
    ],
)
def test_imports_from_private_addresses_require_a_configured_network(
    text: str, allowed: tuple[str, ...], permitted: bool
) -> None:
    assert is_permitted(ip_address(text), allowed) is permitted


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "localhost", "[::ffff:127.0.0.1]"],  # noqa: S104 - binds nothing
)
def test_loopback_address_is_refused_in_every_spelling(host: str) -> None:
    with serve(serve_file(b"secret")) as server:
        port = server.address.rpartition(":")[2]
        with pytest.raises(ForbiddenAddressError, match=r"is not a public address.*imports\.allowedNetworks"):
            request(f"http://{host}:{port}/", Access())
        assert server.requests == []


def test_redirect_target_is_checked_like_the_first_address() -> None:
    def respond(asked: Request) -> Response:
        port = server.address.rpartition(":")[2]
        return (
            Response(status=302, Location=f"http://127.0.0.2:{port}/secret")
            if asked.path == "/"
            else Response(b"secret")
        )

    with serve(respond) as server:
        with pytest.raises(ForbiddenAddressError, match=r"127\.0\.0\.2"):
            request(f"{server.url}/", Access(networks=("127.0.0.1/32",)))
        assert [one.path for one in server.requests] == ["/"]


def test_import_resolves_a_host_name_once_and_connects_to_the_checked_address(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [["127.0.0.1"], ["127.0.0.9"]]
    asked: list[str] = []

    def resolve(host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        asked.append(host)
        found = answers.pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with serve(serve_file(b"public")) as server:
        url = f"http://rebinding.example:{server.address.rpartition(':')[2]}/"
        with request(url, Access(networks=("127.0.0.1/32",))) as response:
            assert response.read() == b"public"
        assert asked == ["rebinding.example"]
        with pytest.raises(ForbiddenAddressError, match=r"127\.0\.0\.9"):
            request(url, Access(networks=("127.0.0.1/32",)))


def test_host_with_a_forbidden_address_is_not_requested_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        addresses = ["127.0.0.1"] if host != "mixed.example" else ["8.8.8.8", "169.254.169.254"]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    behind_proxy = Access(networks=("fd00:2::/64",))
    with serve(serve_file(b"through a proxy")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        with pytest.raises(ForbiddenAddressError, match=r"to 169\.254\.169\.254, which"):
            request("http://mixed.example/disk", behind_proxy)
        assert proxy.requests == []


def test_imports_from_cloud_metadata_services_are_refused() -> None:
    assert [one for one in METADATA_SERVICES if is_permitted(one)] == []


def test_forbidden_address_is_not_requested_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    # No other test uses these networks, because URL openers are cached together with their proxy.
    behind_proxy = Access(networks=("fd00:1::/64",))
    with serve(serve_file(b"through a proxy")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        with pytest.raises(ForbiddenAddressError):
            request("http://169.254.169.254/latest", behind_proxy)
        assert proxy.requests == []
        with request("http://unknown.invalid/disk", behind_proxy) as response:
            assert response.read() == b"through a proxy"

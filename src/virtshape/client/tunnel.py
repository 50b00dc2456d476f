"""
Connections through HTTP proxies with CONNECT, and the choice of proxy by environment variables.

Only proxies with http:// URLs are supported.
"""

import asyncio
import socket
from base64 import b64encode
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import unquote, urlsplit

from virtshape.client.errors import ConfigError, UnreachableError

MAX_RESPONSE_BYTES: Final = 64 * 1024


def find_proxy(server: str, environment: Mapping[str, str]) -> str:
    """Return the proxy for a server from the environment; empty if unset, or if the server is local or in $NO_PROXY."""
    url = urlsplit(server)
    host = url.hostname or ""
    said = {name.lower(): value for name, value in environment.items()}
    exceptions = [part.strip().lower() for part in said.get("no_proxy", "").split(",")]
    if not host or _is_here(host) or any(_matches_host(host, part) for part in exceptions if part):
        return ""
    return said.get(f"{url.scheme}_proxy", "")


def _is_here(host: str) -> bool:
    address = _read_address(host)
    return address.is_loopback if address is not None else host == "localhost"


def _matches_host(host: str, part: str) -> bool:
    """Return True if an entry of $NO_PROXY matches a host: by name, domain, network, or `*`."""
    address = _read_address(host)
    if address is not None:
        try:
            return address in ip_network(part, strict=False)
        except ValueError:
            return part == "*"
    domain = part.removeprefix("*").removeprefix(".")
    return domain in ("", host) or host.endswith(f".{domain}")


def _read_address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


async def open_tunnel(proxy: str, host: str, port: int) -> socket.socket:
    """
    Return a socket that a proxy has connected to the host and port.

    Raise UnreachableError if the proxy refuses, and ConfigError if its URL is not supported.
    """
    url = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if url.scheme != "http" or not url.hostname:
        raise ConfigError(f"proxy {_hide(proxy)} is not supported: use http://HOST:PORT")
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {where} HTTP/1.1", f"host: {where}"]
    if url.username:
        secret = f"{unquote(url.username)}:{unquote(url.password or '')}"
        lines.append(f"proxy-authorization: Basic {b64encode(secret.encode()).decode()}")
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(url.hostname, url.port or 80, type=socket.SOCK_STREAM)
    connection = socket.socket(found[0][0], socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        await loop.sock_connect(connection, found[0][4])
        await loop.sock_sendall(connection, "\r\n".join([*lines, "", ""]).encode("latin-1"))
        _require_success(await _read_status(connection), f"the proxy {_hide(proxy)} refused to connect to {where}")
    except BaseException:
        connection.close()
        raise
    return connection


def _require_success(status: str, message: str) -> None:
    if status.split(" ")[1:2] != ["200"]:
        raise UnreachableError(f"{message}: {status}")


async def _read_status(connection: socket.socket) -> str:
    """Return the status line; read only the head of the proxy's response, because the server's data follows it."""
    loop = asyncio.get_running_loop()
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = await loop.sock_recv(connection, 1)
        if not byte or len(head) > MAX_RESPONSE_BYTES:
            raise UnreachableError("the proxy sent an invalid response")
        head += byte
    return head.split(b"\r\n", 1)[0].decode("latin-1")


def _hide(proxy: str) -> str:
    """Return the URL without user and password."""
    scheme, separator, rest = proxy.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"

"""
The user of a forwarded request: the cluster's API server authenticates the user and sends the name in headers.

The headers are trusted only if the front proxy's CA issued the connection's client certificate.
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from virtshape.api.core.config import ConfigMap
from virtshape.apiserver.auth.authentication import User, read_certificate, unauthorized
from virtshape.apiserver.message import LINE, Request
from virtshape.client.protocol import Client

CONFIGURATION: Final = ("extension-apiserver-authentication", "kube-system")
_KEY: Final = "requestheader-"


class FrontProxy(Struct, frozen=True):
    """The CA of the API server's client certificate, and the lower-case headers in which the API server sends users."""

    authority: bytes = b""
    """The CA in PEM; empty if the cluster has no aggregation layer."""
    allowed_names: tuple[str, ...] = ()
    """Accepted common names of the client certificate; if empty, all names are accepted."""
    user_headers: tuple[str, ...] = ("x-remote-user",)
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ("x-remote-group",)
    extra_prefixes: tuple[str, ...] = ("x-remote-extra-",)


async def get_front_proxy(client: Client) -> FrontProxy:
    """Return the cluster's front proxy settings; raise StatusError or UnreachableError if reading fails."""
    return read_front_proxy(await client.get(ConfigMap, *CONFIGURATION))


def read_front_proxy(configuration: ConfigMap) -> FrontProxy:
    """Return the front proxy settings in the ConfigMap `extension-apiserver-authentication`."""
    data = configuration.data or {}
    return FrontProxy(
        authority=data.get(f"{_KEY}client-ca-file", "").encode(),
        allowed_names=tuple(_read_list(data.get(f"{_KEY}allowed-names", ""))),
        user_headers=_read_headers(data, "username-headers"),
        uid_headers=_read_headers(data, "uid-headers"),
        group_headers=_read_headers(data, "group-headers"),
        extra_prefixes=_read_headers(data, "extra-headers-prefix"),
    )


def identify(request: Request, proxy: FrontProxy) -> User:
    """Return the user in the headers that the front proxy adds to a request; raise StatusError 401 if it adds none."""
    shown = read_certificate(request.certificate)
    if shown is None or not proxy.authority:
        raise unauthorized()
    if proxy.allowed_names and shown.user.name not in proxy.allowed_names:
        raise unauthorized()
    name = next(_list_values(request, proxy.user_headers), "")
    if not name:
        raise unauthorized()
    groups = tuple(_list_values(request, proxy.group_headers))
    return User(name, groups, next(_list_values(request, proxy.uid_headers), ""), _read_extra(request, proxy))


def _read_extra(request: Request, proxy: FrontProxy) -> dict[str, tuple[str, ...]]:
    extra = {}
    for header, text in request.headers.items():
        prefix = next((one for one in proxy.extra_prefixes if header.startswith(one)), None)
        if prefix is not None:
            extra[unquote(header.removeprefix(prefix)).lower()] = tuple(text.split(LINE))
    return extra


def _list_values(request: Request, headers: tuple[str, ...]) -> Iterator[str]:
    for header in headers:
        yield from filter(None, request.headers.get(header, "").split(LINE))


def _read_headers(data: dict[str, str], key: str) -> tuple[str, ...]:
    return tuple(name.lower() for name in _read_list(data.get(f"{_KEY}{key}", "")))


def _read_list(text: str) -> list[str]:
    try:
        return msgspec.json.decode(text, type=list[str]) if text else []
    except msgspec.DecodeError:
        return []

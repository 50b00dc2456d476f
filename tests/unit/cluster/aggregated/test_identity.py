"""Users in front proxy headers, which are trusted only from the front proxy."""

from typing import Any

import pytest

from virtshape.api.codec import from_tree
from virtshape.api.core.config import ConfigMap
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.message import Request
from virtshape.cluster.aggregated.identity import FrontProxy, identify, read_front_proxy

DATA = {
    "client-ca-file": "clients",
    "requestheader-client-ca-file": "PEM",
    "requestheader-allowed-names": '["front-proxy-client"]',
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-uid-headers": '["X-Remote-Uid"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
}
PROXY = FrontProxy(
    b"PEM", ("front-proxy-client",), ("x-remote-user",), ("x-remote-uid",), ("x-remote-group",), ("x-remote-extra-",)
)
CERTIFICATE = {
    "subject": ((("commonName", "front-proxy-client"),),),
    "serialNumber": "01",
    "notAfter": "Jan  1 00:00:00 2040 GMT",
}


def read(data: dict[str, str]) -> FrontProxy:
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}
    return read_front_proxy(from_tree(tree, ConfigMap))


def test_front_proxy_settings_are_read_from_the_config_map() -> None:
    assert read(DATA) == PROXY


def test_cluster_without_aggregation_has_no_front_proxy() -> None:
    assert read({"client-ca-file": "clients"}).authority == b""


TRUSTED: dict[str, tuple[dict[str, str], User]] = {
    "user name": ({"x-remote-user": "ann"}, User("ann", (), "", {})),
    "groups with commas": (
        {"x-remote-user": "ann", "x-remote-group": "a,system:masters\nb"},
        User("ann", ("a,system:masters", "b"), "", {}),
    ),
    "all attributes": (
        {
            "x-remote-user": "ann",
            "x-remote-uid": "7",
            "x-remote-extra-example.com%2fscope": "x\ny",
            "x-other": "z",
        },
        User("ann", (), "7", {"example.com/scope": ("x", "y")}),
    ),
}


@pytest.mark.parametrize(("headers", "user"), TRUSTED.values(), ids=TRUSTED.keys())
def test_user_is_read_from_front_proxy_headers(headers: dict[str, str], user: User) -> None:
    assert identify(Request("GET", "/", headers, certificate=CERTIFICATE), PROXY) == user


OTHER = {**CERTIFICATE, "subject": ((("commonName", "mallory"),),)}

UNTRUSTED: dict[str, tuple[dict[str, Any] | None, dict[str, str], FrontProxy]] = {
    "no certificate": (None, {"x-remote-user": "admin"}, PROXY),
    "certificate of another client": (OTHER, {"x-remote-user": "admin"}, PROXY),
    "no user header": (CERTIFICATE, {"x-remote-group": "system:masters"}, PROXY),
    "front proxy not configured": (CERTIFICATE, {"x-remote-user": "admin"}, FrontProxy()),
}


@pytest.mark.parametrize(("certificate", "headers", "proxy"), UNTRUSTED.values(), ids=UNTRUSTED.keys())
def test_untrusted_requests_are_unauthorized(
    certificate: dict[str, Any] | None, headers: dict[str, str], proxy: FrontProxy
) -> None:
    with pytest.raises(StatusError) as caught:
        identify(Request("GET", "/", headers, certificate=certificate), proxy)
    assert caught.value.code == 401


def test_front_proxy_with_any_common_name_is_trusted_without_allowed_names() -> None:
    proxy = read(DATA | {"requestheader-allowed-names": "[]"})
    assert identify(Request("GET", "/", {"x-remote-user": "ann"}, certificate=OTHER), proxy).name == "ann"

"""URLs and proxies of uploads."""

import pytest

from virtshape.cli.upload.sending import add_scheme, find_http_proxy, join_path, replace_loopback
from virtshape.client.access import Access

REACHED = {
    "other host": ("https://upload.example", "https://api.example:6443", "https://upload.example"),
    "loopback URL and loopback server": ("https://127.0.0.1:6443", "https://localhost:6443", "https://127.0.0.1:6443"),
    "loopback URL and remote server": (
        "https://127.0.0.1:6443",
        "https://api.example:7443",
        "https://api.example:7443",
    ),
    "localhost": ("https://localhost:6443", "https://10.0.0.1:6443", "https://10.0.0.1:6443"),
    "IPv6 loopback": ("https://[::1]:6443", "https://[fd00::1]:6443", "https://[fd00::1]:6443"),
}


@pytest.mark.parametrize(("url", "server", "expected"), REACHED.values(), ids=REACHED)
def test_loopback_upload_url_uses_the_host_of_the_server(url: str, server: str, expected: str) -> None:
    assert replace_loopback(url, server) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://u.example", "https://u.example/v1beta1/upload-async"),
        ("https://u.example/", "https://u.example/v1beta1/upload-async"),
        ("https://u.example/cdi/?a=b", "https://u.example/cdi/v1beta1/upload-async?a=b"),
        ("https://u.example/v1beta1/upload-async", "https://u.example/v1beta1/upload-async"),
    ],
    ids=["host only", "slash", "below a path", "complete path"],
)
def test_missing_path_of_an_upload_url_is_added(url: str, expected: str) -> None:
    assert join_path(url, "/v1beta1/upload-async") == expected


def test_default_scheme_of_an_upload_url_is_https() -> None:
    assert add_scheme("127.0.0.1:8443") == "https://127.0.0.1:8443"
    assert add_scheme("http://127.0.0.1:8080") == "http://127.0.0.1:8080"


@pytest.mark.parametrize(
    ("url", "way"),
    [
        ("https://upload.example", "http://from-environment"),
        ("https://upload.inner.example", ""),
        ("https://api.example:6443/upload", "http://from-kubeconfig"),
    ],
    ids=["other host", "excluded by NO_PROXY", "host of the API server"],
)
def test_upload_uses_the_configured_proxy(url: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://from-environment")
    monkeypatch.setenv("NO_PROXY", ".inner.example")
    assert find_http_proxy(Access("https://api.example:6443", proxy="http://from-kubeconfig"), url) == way

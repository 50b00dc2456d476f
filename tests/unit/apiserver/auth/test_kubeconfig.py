import stat
from base64 import b64decode, b64encode
from pathlib import Path

import pytest

from virtshape.api.yaml import read_documents
from virtshape.apiserver.auth.kubeconfig import ClientKey, Server, find_token, render_kubeconfig, write_kubeconfig

SERVER = Server("https://127.0.0.1:6443", b"-----BEGIN CERTIFICATE-----\n")


def data(pem: bytes) -> str:
    return b64encode(pem).decode()


def test_kubeconfig_contains_the_token() -> None:
    text = render_kubeconfig(SERVER, "alice", "s3cret", namespace="prod")
    assert [document.tree for document in read_documents(text)] == [
        {
            "apiVersion": "v1",
            "kind": "Config",
            "preferences": {},
            "current-context": "alice@virtshape",
            "clusters": [
                {
                    "name": "virtshape",
                    "cluster": {"server": SERVER.url, "certificate-authority-data": data(SERVER.authority)},
                }
            ],
            "users": [{"name": "alice", "user": {"token": "s3cret"}}],
            "contexts": [
                {
                    "name": "alice@virtshape",
                    "context": {"cluster": "virtshape", "namespace": "prod", "user": "alice"},
                }
            ],
        }
    ]


def test_kubeconfig_contains_the_client_certificate() -> None:
    text = render_kubeconfig(SERVER, "alice", ClientKey(b"certificate", b"key"))
    (document,) = read_documents(text)
    assert document.tree["users"] == [
        {
            "name": "alice",
            "user": {"client-certificate-data": data(b"certificate"), "client-key-data": data(b"key")},
        }
    ]
    assert b64decode(document.tree["clusters"][0]["cluster"]["certificate-authority-data"]) == SERVER.authority


def test_kubeconfig_is_private_and_replaced_atomically(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("old")
    path.chmod(0o644)
    write_kubeconfig(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "token"),
    [
        pytest.param(render_kubeconfig(SERVER, "alice", "12345"), "12345", id="looks like a number"),
        pytest.param(render_kubeconfig(SERVER, "alice", ClientKey(b"", b"")), None, id="client certificate"),
        pytest.param("", None, id="empty"),
        pytest.param("users: 7", None, id="not a kubeconfig"),
        pytest.param("{", None, id="not YAML"),
    ],
)
def test_token_is_read_from_a_kubeconfig(text: str, token: str | None) -> None:
    assert find_token(text) == token

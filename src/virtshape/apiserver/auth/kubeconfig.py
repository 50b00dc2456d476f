"""Render and parse kubeconfig files."""

from base64 import b64encode
from pathlib import Path
from typing import NamedTuple

import msgspec

from virtshape.api.yaml import YAMLError, read_documents, write_yaml
from virtshape.apiserver.auth.privatefile import write_private

DEFAULT_NAMESPACE = "default"


class Server(NamedTuple):
    """The server's URL, such as `https://127.0.0.1:6443`, and its CA certificate as PEM."""

    url: str
    authority: bytes


class _User(msgspec.Struct):
    token: str | None = None


class _NamedUser(msgspec.Struct):
    user: _User


class _Config(msgspec.Struct):
    users: list[_NamedUser] = []


class ClientKey(NamedTuple):
    """A client certificate with its key, both as PEM."""

    certificate: bytes
    key: bytes


def render_kubeconfig(
    server: Server,
    user: str,
    secret: str | ClientKey,
    *,
    namespace: str = DEFAULT_NAMESPACE,
    cluster: str = "virtshape",
) -> str:
    """Return a kubeconfig with one cluster, user and context; the secret is a token or a client certificate."""
    context = f"{user}@{cluster}"
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "current-context": context,
        "clusters": [
            {"name": cluster, "cluster": {"server": server.url, "certificate-authority-data": _data(server.authority)}}
        ],
        "users": [{"name": user, "user": _credentials(secret)}],
        "contexts": [{"name": context, "context": {"cluster": cluster, "namespace": namespace, "user": user}}],
    }
    return write_yaml(tree)


def write_kubeconfig(path: Path, text: str) -> None:
    """Replace the file atomically; only its owner may read it."""
    write_private(path, text.encode())


def find_token(text: str) -> str | None:
    """Return the bearer token of the first user that has one; None if there is none or the text is not a kubeconfig."""
    try:
        configs = [msgspec.convert(document.tree, _Config) for document in read_documents(text)]
    except (YAMLError, msgspec.ValidationError):
        return None
    tokens = (entry.user.token for config in configs for entry in config.users)
    return next((token for token in tokens if token), None)


def _credentials(secret: str | ClientKey) -> dict[str, str]:
    if isinstance(secret, str):
        return {"token": secret}
    return {"client-certificate-data": _data(secret.certificate), "client-key-data": _data(secret.key)}


def _data(pem: bytes) -> str:
    return b64encode(pem).decode()

"""
Read kubeconfig files as kubectl does: $KUBECONFIG, ~/.kube/config, or a pod's service account.

If several files set a value, the first file wins. Paths in a file are relative to its directory. No connections are
opened here.
"""

import binascii
import os
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct, field

from virtshape.api.status import StatusError
from virtshape.api.yaml import read_documents
from virtshape.client.access import (
    Access,
    Credentials,
    CredentialSource,
    Identity,
    Impersonation,
    StaticCredentials,
    TokenFile,
)
from virtshape.client.errors import ConfigError
from virtshape.client.plugin import ExecConfig, ExecPlugin, describe_cluster

ACCOUNT_DIRECTORY: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DEFAULT_NAMESPACE: Final = "default"

T = TypeVar("T")


class Cluster(Struct, rename="kebab"):
    """A server and its CA."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class User(Struct, rename="kebab"):
    """The credentials of a user."""

    token: str = ""
    token_file: str = field(default="", name="tokenFile")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    username: str = ""
    password: str = ""
    exec: ExecConfig | None = None
    auth_provider: Any = None
    as_: str = field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] | None = None
    as_user_extra: dict[str, list[str]] | None = None


class Context(Struct):
    """A cluster, a user of the cluster, and the default namespace."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _Named(Struct):
    name: str
    cluster: Any = None
    user: Any = None
    context: Any = None


class _File(Struct):
    current_context: str | None = field(default=None, name="current-context")
    clusters: list[_Named] | None = None
    users: list[_Named] | None = None
    contexts: list[_Named] | None = None


class Config(Struct):
    """All clusters, users and contexts, each with the directory of its file."""

    current_context: str = ""
    clusters: dict[str, tuple[Cluster, Path]] = {}
    users: dict[str, tuple[User, Path]] = {}
    contexts: dict[str, tuple[Context, Path]] = {}


def get_access(
    *,
    path: str = "",
    context: str = "",
    cluster: str = "",
    user: str = "",
    environment: Mapping[str, str] = os.environ,
    account: Path = ACCOUNT_DIRECTORY,
) -> Access:
    """Return the server and credentials that kubectl would use; raise ConfigError if no server is configured."""
    config = load_config([Path(path)] if path else list_paths(environment), must_exist=bool(path))
    if not config.contexts and not config.clusters and not (path or cluster or user):
        access = find_account(environment, account)
        if access is not None:
            return access
        raise ConfigError(
            "no server is configured: set KUBECONFIG to the path of a kubeconfig, or create ~/.kube/config"
        )
    return choose_access(config, context, cluster=cluster, user=user)


def list_paths(environment: Mapping[str, str]) -> list[Path]:
    """Return the kubeconfig paths in order of precedence."""
    stated = [Path(part) for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    return stated or [Path(environment.get("HOME", "~")).expanduser() / ".kube" / "config"]


def load_config(paths: Sequence[Path], *, must_exist: bool = False) -> Config:
    """Return the merged files; raise ConfigError if one is invalid, or missing although `must_exist` is set."""
    config = Config(clusters={}, users={}, contexts={})
    for path in paths:
        try:
            text = path.read_text()
        except FileNotFoundError:
            if must_exist:
                raise ConfigError(f"kubeconfig {path} does not exist") from None
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} cannot be read: {error}") from error
        try:
            _merge(config, text, path)
        except (StatusError, msgspec.ValidationError) as error:
            raise ConfigError(f"{path} is not a valid kubeconfig: {error}") from error
    return config


def _merge(config: Config, text: str, path: Path) -> None:
    for document in read_documents(text, str(path)):
        file = msgspec.convert(_without_nulls(document.tree), _File)
        config.current_context = config.current_context or file.current_context or ""
        home = path.absolute().parent
        for entry in file.clusters or ():
            config.clusters.setdefault(entry.name, (msgspec.convert(entry.cluster or {}, Cluster), home))
        for entry in file.users or ():
            config.users.setdefault(entry.name, (msgspec.convert(entry.user or {}, User), home))
        for entry in file.contexts or ():
            config.contexts.setdefault(entry.name, (msgspec.convert(entry.context or {}, Context), home))


def _without_nulls(tree: Any) -> Any:
    """Return decoded YAML without nulls, which Go's decoder ignores."""
    if isinstance(tree, dict):
        return {key: _without_nulls(value) for key, value in tree.items() if value is not None}
    return [_without_nulls(value) for value in tree] if isinstance(tree, list) else tree


def choose_access(config: Config, context: str = "", *, cluster: str = "", user: str = "") -> Access:
    """Return the access for a context, the current one by default; `cluster` and `user` override the context."""
    chosen = _choose_context(config, context, cluster, user)
    place, place_home = _get_entry(config.clusters, chosen.cluster, "cluster")
    account, user_home = _get_entry(config.users, chosen.user, "user") if chosen.user else (User(), Path())
    authority = _read_either(place.certificate_authority_data, place.certificate_authority, place_home)
    return Access(
        server=place.server,
        credentials=_get_credentials(account, user_home, chosen.user, place, authority),
        authority=authority,
        insecure=place.insecure_skip_tls_verify,
        server_name=place.tls_server_name,
        namespace=chosen.namespace or DEFAULT_NAMESPACE,
        acting_as=Impersonation(account.as_, account.as_uid, account.as_groups or (), account.as_user_extra or {}),
        proxy=place.proxy_url,
    )


def _choose_context(config: Config, name: str, cluster: str, user: str) -> Context:
    name = name or config.current_context
    if not name and not cluster:
        raise ConfigError("the kubeconfig has no current-context: select a context")
    found = _get_entry(config.contexts, name, "context")[0] if name else Context()
    return Context(cluster or found.cluster, user or found.user, found.namespace)


def find_account(environment: Mapping[str, str], directory: Path = ACCOUNT_DIRECTORY) -> Access | None:
    """Return the access for the pod's service account; None outside of pods."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "")
    token = directory / "token"
    if not host or not port or not token.exists():
        return None
    authority, namespace = directory / "ca.crt", directory / "namespace"
    return Access(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        credentials=TokenFile(token),
        authority=authority.read_bytes() if authority.exists() else b"",
        namespace=namespace.read_text().strip() if namespace.exists() else DEFAULT_NAMESPACE,
    )


def _get_credentials(user: User, home: Path, name: str, cluster: Cluster, authority: bytes) -> CredentialSource:
    if user.auth_provider is not None:
        problem = "uses an auth-provider, which Kubernetes no longer supports: use an exec credential plugin"
        raise ConfigError(f'user "{name}" {problem}')
    if user.exec is not None:
        described = describe_cluster(
            cluster.server, cluster.tls_server_name, authority, cluster.insecure_skip_tls_verify
        )
        return ExecPlugin(user.exec, home, described)
    identity = _find_identity(user, home, name)
    if user.token_file:
        return TokenFile(home / user.token_file, identity)
    basic = (user.username, user.password) if user.username else None
    return StaticCredentials(Credentials(user.token.strip(), identity, basic))


def _find_identity(user: User, home: Path, name: str) -> Identity | None:
    certificate = _read_either(user.client_certificate_data, user.client_certificate, home)
    key = _read_either(user.client_key_data, user.client_key, home)
    if not certificate and not key:
        return None
    if not certificate or not key:
        raise ConfigError(f'user "{name}" must have both a client certificate and a client key, or neither')
    return Identity(certificate, key)


def _read_either(data: str, path: str, home: Path) -> bytes:
    """Return the inline data, or else the contents of the file; empty if neither data nor a path is given."""
    try:
        if data:
            return b64decode(data, validate=True)
        return (home / path).read_bytes() if path else b""
    except (OSError, binascii.Error) as error:
        raise ConfigError(f"a certificate or key cannot be read: {error}") from error


def _get_entry(named: Mapping[str, tuple[T, Path]], name: str, what: str) -> tuple[T, Path]:
    if name not in named:
        known = f"; available: {', '.join(sorted(named))}" if named else ""
        raise ConfigError(f'the kubeconfig has no {what} "{name}"{known}')
    return named[name]

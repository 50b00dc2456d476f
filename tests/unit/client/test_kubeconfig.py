"""Kubeconfigs are read as in kubectl."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from virtshape.api.model import JsonObject
from virtshape.api.yaml import write_yaml
from virtshape.client.access import Access, Credentials, Identity, Impersonation
from virtshape.client.errors import ConfigError
from virtshape.client.kubeconfig import choose_access, find_account, get_access, load_config


def build_config(
    user: JsonObject | None = None, namespace: str | None = None, *, name: str = "one", **cluster: Any
) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443", **cluster}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": namespace}}],
    }


def write(path: Path, tree: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(write_yaml(tree))
    return path


def read(directory: Path, **options: Any) -> Access:
    return get_access(path=str(write(directory / "config", build_config(**options))))


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def test_first_file_in_the_kubeconfig_variable_takes_precedence(tmp_path: Path) -> None:
    first = write(tmp_path / "1", build_config(namespace="ns1"))
    second = write(
        tmp_path / "2", build_config(name="two") | {"clusters": build_config(server="https://no")["clusters"]}
    )
    environment = {"KUBECONFIG": f"{first}:{tmp_path / 'missing'}:{second}"}
    access = get_access(environment=environment)
    assert (access.server, access.namespace) == ("https://one:6443", "ns1")
    with pytest.raises(ConfigError, match='no cluster "two"; available: one'):
        get_access(environment=environment, context="two")


def test_kubeconfig_in_the_home_directory_is_the_default(tmp_path: Path) -> None:
    write(tmp_path / ".kube" / "config", build_config(name="home"))
    access = get_access(environment={"HOME": str(tmp_path)})
    assert (access.server, access.namespace) == ("https://home:6443", "default")


def test_kubeconfig_context_can_be_selected(tmp_path: Path) -> None:
    one, two = build_config(), build_config(name="two")
    both = one | {key: one[key] + two[key] for key in ("clusters", "users", "contexts")}
    path = str(write(tmp_path / "config", both))
    assert get_access(path=path).server == "https://one:6443"
    assert get_access(path=path, context="two").server == "https://two:6443"


async def test_cluster_and_user_override_the_context(tmp_path: Path) -> None:
    one, two = build_config(user={"token": "first"}, namespace="ns"), build_config(name="two", user={"token": "second"})
    both = one | {key: one[key] + two[key] for key in ("clusters", "users", "contexts")}
    path = str(write(tmp_path / "config", both))
    access = get_access(path=path, cluster="two")
    assert (access.server, (await access.credentials.fetch()).token, access.namespace) == (
        "https://two:6443",
        "first",
        "ns",
    )
    access = get_access(path=path, user="two")
    assert (access.server, (await access.credentials.fetch()).token) == ("https://one:6443", "second")
    nowhere = str(write(tmp_path / "nowhere", both | {"current-context": ""}))
    access = get_access(path=nowhere, cluster="two", user="two")
    assert (access.server, (await access.credentials.fetch()).token, access.namespace) == (
        "https://two:6443",
        "second",
        "default",
    )
    with pytest.raises(ConfigError, match='no cluster "three"; available: one, two'):
        get_access(path=path, cluster="three")
    with pytest.raises(ConfigError, match='no user "three"; available: one, two'):
        get_access(path=path, user="three")


def test_service_account_is_not_used_if_a_cluster_is_named(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    environment = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    assert get_access(environment=environment, account=tmp_path).server == "https://10.0.0.1:443"
    with pytest.raises(ConfigError, match='the kubeconfig has no cluster "one"'):
        get_access(environment=environment, account=tmp_path, cluster="one")


PROBLEMS: dict[str, tuple[object, str]] = {
    "unknown context": ({"current-context": "x"}, 'has no context "x"'),
    "no context": (build_config() | {"current-context": ""}, "no current-context"),
    "unknown cluster": (build_config() | {"clusters": []}, 'has no cluster "one"'),
    "unknown user": (build_config() | {"users": None}, 'has no user "one"'),
    "not a kubeconfig": ("just text", "is not a valid kubeconfig"),
    "wrong types": ({"clusters": 3}, "is not a valid kubeconfig"),
    "certificate without a key": (
        build_config(user={"client-key-data": encoded("k")}),
        "must have both a client certificate and a client key",
    ),
    "missing file": (build_config(user={"client-certificate": "c", "client-key": "k"}), "cannot be read"),
    "invalid base64": (build_config(None, None, **{"certificate-authority-data": "?"}), "cannot be read"),
    "auth provider": (build_config(user={"auth-provider": {"name": "gcp"}}), "auth-provider"),
}


@pytest.mark.parametrize(("tree", "message"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_unusable_kubeconfig_is_rejected_with_a_reason(tmp_path: Path, tree: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        get_access(path=str(write(tmp_path / "config", tree)))


def test_proxy_url_of_a_kubeconfig_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "config", build_config(None, None, **{"proxy-url": "http://p"}))
    assert get_access(path=str(path)).proxy == "http://p"


def test_missing_kubeconfig_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        get_access(path=str(tmp_path / "nope"))


def test_error_without_a_server_suggests_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="set KUBECONFIG"):
        get_access(environment={"HOME": str(tmp_path)}, account=tmp_path)


SECRETS: dict[str, tuple[JsonObject, Credentials]] = {
    "nothing": ({}, Credentials()),
    "token": ({"token": "abc\n"}, Credentials("abc")),
    "password": ({"username": "u", "password": "p"}, Credentials(basic=("u", "p"))),
    "certificate": (
        {"client-certificate-data": encoded("c"), "client-key-data": encoded("k")},
        Credentials(identity=Identity(b"c", b"k")),
    ),
    "data before files": (
        {"client-certificate-data": encoded("c"), "client-certificate": "none", "client-key-data": encoded("k")},
        Credentials(identity=Identity(b"c", b"k")),
    ),
}


@pytest.mark.parametrize(("user", "secret"), SECRETS.values(), ids=SECRETS.keys())
async def test_user_credentials_are_read_from_a_kubeconfig(
    tmp_path: Path, user: JsonObject, secret: Credentials
) -> None:
    assert await read(tmp_path, user=user).credentials.fetch() == secret


async def test_paths_in_a_kubeconfig_are_relative_to_its_directory(tmp_path: Path) -> None:
    home = tmp_path / "sub"
    home.mkdir()
    for name in ("ca", "cert", "key", "token"):
        (home / name).write_text(name)
    user = {"client-certificate": "cert", "client-key": str(home / "key"), "tokenFile": "token", "token": "other"}
    access = read(home, user=user, **{"certificate-authority": "ca", "tls-server-name": "me"})
    assert (access.authority, access.server_name) == (b"ca", "me")
    assert await access.credentials.fetch() == Credentials("token", Identity(b"cert", b"key"))


async def test_token_file_is_reread_after_invalidation(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("old")
    secrets = read(tmp_path, user={"tokenFile": "token"}).credentials
    assert (await secrets.fetch()).token == "old"  # noqa: S105 - not a password
    (tmp_path / "token").write_text("new")
    assert (await secrets.fetch()).token == "old"  # noqa: S105 - as above
    assert secrets.invalidate()
    assert (await secrets.fetch()).token == "new"  # noqa: S105 - as above


def test_impersonation_in_a_kubeconfig_is_read(tmp_path: Path) -> None:
    user = {"as": "eve", "as-uid": "u1", "as-groups": ["a", "b"], "as-user-extra": {"k": ["v", "w"]}}
    acting_as = read(tmp_path, user=user).acting_as
    assert acting_as == Impersonation("eve", "u1", ["a", "b"], {"k": ["v", "w"]})
    assert acting_as.headers() == [
        ("impersonate-user", "eve"),
        ("impersonate-uid", "u1"),
        ("impersonate-group", "a"),
        ("impersonate-group", "b"),
        ("impersonate-extra-k", "v"),
        ("impersonate-extra-k", "w"),
    ]


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
async def test_service_account_is_used_in_a_pod(tmp_path: Path, host: str, server: str) -> None:
    for name, text in {"token": "t", "ca.crt": "ca", "namespace": "prod\n"}.items():
        (tmp_path / name).write_text(text)
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443", "HOME": str(tmp_path)}
    access = get_access(environment=environment, account=tmp_path)
    assert (access.server, access.authority, access.namespace) == (server, b"ca", "prod")
    assert (await access.credentials.fetch()).token == "t"  # noqa: S105 - not a password


def test_no_service_account_is_found_outside_a_pod(tmp_path: Path) -> None:
    assert find_account({}, tmp_path) is None


def test_kubeconfig_can_be_json_with_nulls(tmp_path: Path) -> None:
    text = '{"current-context": null, "clusters": null, "users": null, "contexts": [{"name": "a", "context": null}]}'
    (tmp_path / "config").write_text(text)
    config = load_config([tmp_path / "config"])
    assert list(config.contexts) == ["a"]
    with pytest.raises(ConfigError):
        choose_access(config)

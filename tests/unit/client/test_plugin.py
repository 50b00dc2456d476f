"""Exec credential plugins are run as in kubectl."""

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from virtshape.client.access import Credentials, Identity
from virtshape.client.errors import ConfigError
from virtshape.client.plugin import ExecConfig, ExecPlugin, Variable, describe_cluster

V1 = "client.authentication.k8s.io/v1"


def build_script(directory: Path, *lines: str) -> str:
    path = directory / "plugin.sh"
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def printing(status: dict[str, Any], api_version: str = V1) -> str:
    return f"echo '{json.dumps({'apiVersion': api_version, 'kind': 'ExecCredential', 'status': status})}'"


def build_plugin(command: str, home: Path = Path("/"), **options: Any) -> ExecPlugin:
    return ExecPlugin(ExecConfig(command=command, api_version=V1, **options), home, {"server": "https://s"})


SECRETS: dict[str, tuple[dict[str, Any], Credentials]] = {
    "token": ({"token": "t"}, Credentials("t")),
    "certificate": ({"clientCertificateData": "c", "clientKeyData": "k"}, Credentials(identity=Identity(b"c", b"k"))),
    "both": (
        {"token": "t", "clientCertificateData": "c", "clientKeyData": "k"},
        Credentials("t", Identity(b"c", b"k")),
    ),
}


@pytest.mark.parametrize(("status", "secret"), SECRETS.values(), ids=SECRETS.keys())
async def test_credentials_printed_by_a_plugin_are_used(
    tmp_path: Path, status: dict[str, Any], secret: Credentials
) -> None:
    assert await build_plugin(build_script(tmp_path, printing(status))).fetch() == secret


def count_runs(directory: Path) -> int:
    log = directory / "runs"
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.mark.parametrize(
    ("expires", "runs"),
    [
        pytest.param(None, 1, id="never"),
        pytest.param("2999-01-01T00:00:00Z", 1, id="later"),
        pytest.param("2001-01-01T00:00:00Z", 2, id="before"),
    ],
)
async def test_plugin_credentials_are_cached_until_they_expire(tmp_path: Path, expires: str | None, runs: int) -> None:
    script = build_script(
        tmp_path, f"echo run >> {tmp_path}/runs", printing({"token": "t", "expirationTimestamp": expires})
    )
    plugin = build_plugin(script)
    await plugin.fetch()
    await plugin.fetch()
    assert count_runs(tmp_path) == runs


async def test_plugin_runs_once_for_concurrent_callers_and_after_invalidation(tmp_path: Path) -> None:
    plugin = build_plugin(build_script(tmp_path, f"echo run >> {tmp_path}/runs", printing({"token": "t"})))
    await asyncio.gather(*(plugin.fetch() for _ in range(5)))
    assert count_runs(tmp_path) == 1
    assert plugin.invalidate()
    await plugin.fetch()
    assert count_runs(tmp_path) == 2


async def test_plugin_gets_exec_info_arguments_and_environment(tmp_path: Path) -> None:
    lines = [f'echo "$KUBERNETES_EXEC_INFO" > {tmp_path}/info', f'echo "$1 $COLOR $HOME" > {tmp_path}/rest']
    script = build_script(tmp_path, *lines, printing({"token": "t"}))
    plugin = build_plugin(script, args=["login"], env=[Variable("COLOR", "red")], provide_cluster_info=True)
    await plugin.fetch()
    assert json.loads((tmp_path / "info").read_text()) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://s"}},
    }
    assert (tmp_path / "rest").read_text() == f"login red {os.environ['HOME']}\n"


async def test_plugin_command_is_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    build_script(tmp_path, printing({"token": "t"}))
    assert await build_plugin("./plugin.sh", tmp_path).fetch() == Credentials("t")


PROBLEMS: dict[str, tuple[str, str]] = {
    "plugin fails": ("echo no luck >&2; exit 3", "failed with exit code 3: no luck"),
    "not JSON": ("echo hello", "did not print a valid ExecCredential"),
    "no credentials": (printing({}), "neither a token nor a certificate"),
    "certificate without a key": (printing({"clientKeyData": "k"}), "neither a token nor a certificate"),
    "other version": (
        printing({"token": "t"}, "client.authentication.k8s.io/v1beta1"),
        "instead of client.authentication.k8s.io/v1",
    ),
}


@pytest.mark.parametrize(("line", "message"), PROBLEMS.values(), ids=PROBLEMS.keys())
async def test_failing_plugin_is_reported_with_a_reason(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        await build_plugin(build_script(tmp_path, line)).fetch()


async def test_missing_plugin_is_reported_with_its_install_hint() -> None:
    with pytest.raises(ConfigError) as caught:
        await build_plugin("no-such-plugin", install_hint="get it from example.com").fetch()
    assert "no-such-plugin cannot be run" in str(caught.value)
    assert str(caught.value).endswith("\nget it from example.com")


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(ExecConfig("x", "client.authentication.k8s.io/v1alpha1"), id="old version"),
        pytest.param(ExecConfig("x", V1, interactive_mode="Always"), id="interactive plugin"),
    ],
)
def test_unsupported_plugin_is_rejected_on_creation(config: ExecConfig) -> None:
    with pytest.raises(ConfigError):
        ExecPlugin(config, Path(), {})


def test_cluster_info_for_a_plugin_omits_unset_fields() -> None:
    assert describe_cluster("https://s", "", b"", False) == {"server": "https://s"}
    assert describe_cluster("https://s", "me", b"pem", True) == {
        "server": "https://s",
        "tls-server-name": "me",
        "certificate-authority-data": "cGVt",
        "insecure-skip-tls-verify": True,
    }

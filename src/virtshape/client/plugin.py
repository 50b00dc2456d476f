"""
Exec credential plugins: programs in a kubeconfig that print a token or a certificate.

A plugin runs when credentials are needed, and again when they expire or are rejected. A plugin cannot prompt on a
terminal.
"""

import asyncio
import os
import time
from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from virtshape.api.model import JsonObject
from virtshape.client.access import Credentials, Identity
from virtshape.client.errors import ConfigError

PLUGIN_SECONDS: Final = 60.0
API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


class Variable(Struct):
    """An environment variable that is set for a plugin."""

    name: str
    value: str = ""


class ExecConfig(Struct, rename="camel"):
    """The command of a plugin and its options."""

    command: str
    api_version: str
    args: list[str] | None = None
    env: list[Variable] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class _Status(Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Credential(Struct, rename="camel"):
    api_version: str
    status: _Status = field(default_factory=_Status)


class ExecPlugin:
    """Credentials from an exec plugin."""

    def __init__(self, config: ExecConfig, home: Path, cluster: Mapping[str, Any]) -> None:
        if config.api_version not in API_VERSIONS:
            raise ConfigError(f'{config.command}: exec plugin with apiVersion "{config.api_version}" is not supported')
        if config.interactive_mode == "Always":
            raise ConfigError(f"{config.command}: this exec plugin needs a terminal, which is not available")
        self._config = config
        self._home = home
        self._cluster = cluster
        self._credentials: Credentials | None = None
        self._expires: float | None = None
        self._running = asyncio.Lock()

    async def fetch(self) -> Credentials:
        """Return the credentials; run the plugin if they are missing or expired, and raise ConfigError if it fails."""
        async with self._running:
            if self._credentials is None or (self._expires is not None and time.time() >= self._expires):
                self._credentials, self._expires = _read(await self._run(), self._config)
            return self._credentials

    def invalidate(self) -> bool:
        """Drop the credentials; return True, because the plugin may print new credentials."""
        self._credentials = None
        return True

    async def _run(self) -> bytes:
        config = self._config
        command = str(self._home / config.command) if os.sep in config.command else config.command
        environment = {**os.environ, **{variable.name: variable.value for variable in config.env or ()}}
        environment["KUBERNETES_EXEC_INFO"] = self._describe()
        try:
            process = await asyncio.create_subprocess_exec(
                command,
                *(config.args or ()),
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f"\n{config.install_hint}" if config.install_hint else ""
            raise ConfigError(f"the credential plugin {config.command} cannot be run: {error}{hint}") from error
        try:
            async with asyncio.timeout(PLUGIN_SECONDS):
                output, errors = await process.communicate()
        except TimeoutError:
            raise ConfigError(
                f"the credential plugin {config.command} did not finish within {PLUGIN_SECONDS:g} seconds"
            ) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            message = errors.decode(errors="replace").strip()
            raise ConfigError(
                f"the credential plugin {config.command} failed with exit code {process.returncode}: {message}"
            )
        return output

    def _describe(self) -> str:
        spec: JsonObject = {"interactive": False}
        if self._config.provide_cluster_info:
            spec["cluster"] = self._cluster
        about = {"kind": "ExecCredential", "apiVersion": self._config.api_version, "spec": spec}
        return msgspec.json.encode(about).decode()


def describe_cluster(server: str, server_name: str, authority: bytes, insecure: bool) -> JsonObject:
    """Return the cluster information for plugins with `provideClusterInfo`."""
    about = {
        "server": server,
        "tls-server-name": server_name,
        "certificate-authority-data": b64encode(authority).decode(),
        "insecure-skip-tls-verify": insecure,
    }
    return {key: value for key, value in about.items() if value}


def _read(output: bytes, config: ExecConfig) -> tuple[Credentials, float | None]:
    try:
        credential = msgspec.json.decode(output, type=_Credential)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"the credential plugin {config.command} did not print a valid ExecCredential: {error}"
        ) from error
    status = credential.status
    if credential.api_version != config.api_version:
        problem = f"printed apiVersion {credential.api_version} instead of {config.api_version}"
        raise ConfigError(f"the credential plugin {config.command} {problem}")
    has_key = bool(status.client_certificate_data and status.client_key_data)
    if not status.token and not has_key:
        raise ConfigError(f"the credential plugin {config.command} printed neither a token nor a certificate with key")
    identity = Identity(status.client_certificate_data.encode(), status.client_key_data.encode()) if has_key else None
    expires = status.expiration_timestamp.timestamp() if status.expiration_timestamp is not None else None
    return Credentials(status.token, identity), expires

"""
Build the fill request of a DataVolume: its source with the secrets and certificates that it refers to.

Secrets and config maps are read through a client. Unsupported sources and missing objects are returned as problems.
"""

from base64 import b64decode
from typing import Final, TypeVar

from virtshape.api.cdi import DataVolume, DataVolumeSource, DataVolumeSourceHTTP, DataVolumeSourceRegistry
from virtshape.api.core.config import ConfigMap, Secret
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.client.protocol import Client
from virtshape.controllers.storage.protocol import Blank, Container, FillRequest, FillSource, Upload, Web
from virtshape.controllers.storage.sources import SourceProblem
from virtshape.engine.claims import get_data_volume_content

USER_KEY: Final = "accessKeyId"
PASSWORD_KEY: Final = "secretKey"  # noqa: S105 - the name of a key
_UNSUPPORTED: Final = {
    "gcs": "Google Cloud Storage",
    "imageio": "an oVirt server",
    "s3": "an S3 store",
    "vddk": "a VMware server",
}

T = TypeVar("T", bound=Model)


class _MissingError(Exception):
    """An object that a source refers to does not exist."""


async def build_fill_request(
    volume: DataVolume, source: DataVolumeSource, client: Client
) -> FillRequest | SourceProblem:
    """Build the fill request of a DataVolume whose source is neither a claim nor a snapshot, or return the problem."""
    refusal = find_unsupported_source(volume, source)
    if refusal is not None:
        return refusal
    namespace = volume.metadata.namespace or ""
    try:
        return make_fill_request(volume, await _read_origin(source, namespace, client))
    except _MissingError as missing:
        return SourceProblem("NotFound", str(missing))


def make_fill_request(volume: DataVolume, origin: FillSource) -> FillRequest:
    """Return the fill request of a DataVolume for this source."""
    content = get_data_volume_content(volume)
    return FillRequest(source=origin, content=content, preallocated=bool(volume.spec.preallocation))


def find_unsupported_source(volume: DataVolume, source: DataVolumeSource) -> SourceProblem | None:
    """Return why the source of a DataVolume is not supported, or None."""
    for name, what in _UNSUPPORTED.items():
        if getattr(source, name) is not None:
            message = f"source {name} ({what}) is not supported: use http, registry, pvc or upload"
            return SourceProblem("NotSupported", message, final=True)
    if source.registry is not None and not source.registry.url:
        message = (
            "source registry must set url, such as docker://registry.example/image:tag; image streams are not supported"
        )
        return SourceProblem("NotSupported", message, final=True)
    if volume.spec.checkpoints:
        return SourceProblem(
            "NotSupported", "checkpoints are not supported: a volume is imported in one pass", final=True
        )
    if not any((source.blank, source.http, source.registry, source.upload)):
        return SourceProblem("NoSource", "the source is empty: set one, such as http or blank", final=True)
    return None


async def _read_origin(source: DataVolumeSource, namespace: str, client: Client) -> FillSource:
    if source.http is not None:
        return await _read_web(source.http, namespace, client)
    if source.registry is not None:
        return await _read_container(source.registry, namespace, client)
    return Upload() if source.upload is not None else Blank()


async def _read_web(source: DataVolumeSourceHTTP, namespace: str, client: Client) -> Web:
    user, password = await _read_login(source.secret_ref, namespace, client)
    lines = list(source.extra_headers or ())
    for name in source.secret_extra_headers or ():
        lines += (await _read_secret(name, namespace, client)).values()
    return Web(
        url=source.url,
        headers=tuple(parse_header(line) for line in lines),
        user=user,
        password=password,
        authorities=await _read_authorities(source.cert_config_map, namespace, client),
        checksum=source.checksum or "",
    )


async def _read_container(source: DataVolumeSourceRegistry, namespace: str, client: Client) -> Container:
    user, password = await _read_login(source.secret_ref, namespace, client)
    return Container(
        reference=source.url or "",
        user=user,
        password=password,
        authorities=await _read_authorities(source.cert_config_map, namespace, client),
        architecture=(source.platform.architecture if source.platform else None) or "",
    )


def parse_header(line: str) -> tuple[str, str]:
    """Parse an HTTP header line; without a colon, the value is empty."""
    name, _, value = line.strip().partition(":")
    return name.strip(), value.strip()


async def _read_login(name: str | None, namespace: str, client: Client) -> tuple[str, str]:
    if not name:
        return "", ""
    found = await _read_secret(name, namespace, client)
    return found.get(USER_KEY, ""), found.get(PASSWORD_KEY, "")


async def _read_secret(name: str, namespace: str, client: Client) -> dict[str, str]:
    secret = await _get(Secret, name, namespace, client)
    return {key: b64decode(value).decode(errors="replace") for key, value in (secret.data or {}).items()}


async def _read_authorities(name: str | None, namespace: str, client: Client) -> str:
    if not name:
        return ""
    found = await _get(ConfigMap, name, namespace, client)
    return "\n".join((found.data or {}).values())


async def _get(kind: type[T], name: str, namespace: str, client: Client) -> T:
    try:
        return await client.get(kind, name, namespace)
    except StatusError as error:
        if error.code != 404:
            raise
        raise _MissingError(f"{kind.__name__} {namespace}/{name} not found") from None

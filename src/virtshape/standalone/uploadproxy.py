"""Publishes the server's address as upload proxy in CDI's configuration, and keeps what an administrator has set."""

from typing import Final

from msgspec.structs import replace

from virtshape.api.cdi import CDIConfig, CDIConfigSpec, CDIConfigStatus
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.client.protocol import Client

NAME: Final = "config"


async def publish_upload_proxy(client: Client, url: str, authority: str) -> None:
    """Set the upload address and its CA certificate (PEM) in the status of CDI's configuration."""
    config = await _ensure_config(client)
    status = CDIConfigStatus(upload_proxy_url=url, upload_proxy_ca=authority)
    if config.status != status:
        await client.update_status(replace(config, status=status))


async def _ensure_config(client: Client) -> CDIConfig:
    try:
        return await client.get(CDIConfig, NAME)
    except StatusError as error:
        if error.code != 404:
            raise
    return await client.create(
        CDIConfig(
            api_version="cdi.kubevirt.io/v1beta1",
            kind="CDIConfig",
            metadata=ObjectMeta(name=NAME),
            spec=CDIConfigSpec(),
        )
    )

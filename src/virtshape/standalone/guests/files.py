"""
Write the files of a guest's volumes where its launcher process reads them, and request service account tokens.

Only root and the guest can read the files.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from virtshape.api.codec import decode, encode
from virtshape.api.core.serviceaccount import ServiceAccount
from virtshape.api.tokenrequest import TokenRequest, TokenRequestSpec
from virtshape.client.errors import parse_status_error
from virtshape.client.resources import format_target, kind_of
from virtshape.client.transport import Call, Transport
from virtshape.controllers.storage.files import Files, IssueToken
from virtshape.controllers.storage.mounts import Mount

TOKEN_SECONDS: Final = 365 * 24 * 3600
"""Lifetime of a service account token in a guest; long, because tokens in running guests are not renewed."""


def write_mounts(directory: Path, mounts: Mapping[str, Mount]) -> dict[str, str]:
    """
    Clear the directory, write the files of volumes into it, and return the path of each volume's source.

    A source that is already a path is returned unchanged.
    """
    shutil.rmtree(directory, ignore_errors=True)
    return {
        name: mount if isinstance(mount, str) else _write(directory / name, mount) for name, mount in mounts.items()
    }


def _write(directory: Path, files: Mapping[str, bytes]) -> str:
    directory.mkdir(mode=0o700, parents=True)
    for name, content in files.items():
        path = directory / name
        if not path.resolve().is_relative_to(directory.resolve()):
            raise ValueError(f"path {name} is outside of its volume")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(content)
    return str(directory)


def make_token_issuer(transport: Transport, authority: str) -> IssueToken:
    """Return a function that requests tokens; `authority` is the server's CA certificate in PEM."""

    async def issue(namespace: str, name: str) -> Files:
        target = format_target(kind_of(ServiceAccount), namespace, name, "token")
        asked = TokenRequest(
            api_version="authentication.k8s.io/v1",
            kind="TokenRequest",
            spec=TokenRequestSpec(expiration_seconds=TOKEN_SECONDS),
        )
        headers = {"content-type": "application/json", "accept": "application/json"}
        reply = await transport.call(Call("POST", target, headers, encode(asked)))
        if reply.status >= 400:
            raise parse_status_error(reply.body, reply.status)
        answer = decode(reply.body, TokenRequest)
        token = answer.status.token if answer.status is not None else ""
        return {"token": token.encode(), "ca.crt": authority.encode(), "namespace": namespace.encode()}

    return issue

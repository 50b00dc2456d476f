"""Files of a service account for a guest: token, CA certificate and namespace."""

from typing import Final

from virtshape.api.codec import decode, encode
from virtshape.api.core.serviceaccount import ServiceAccount
from virtshape.api.tokenrequest import TokenRequest, TokenRequestSpec
from virtshape.client.errors import parse_status_error
from virtshape.client.resources import format_target, kind_of
from virtshape.client.transport import Call, Transport
from virtshape.controllers.storage.files import Files, IssueToken

SECONDS: Final = 365 * 24 * 3600
"""Lifetime of the token: long, because tokens in running guests are not renewed."""


def make_token_issuer(transport: Transport, authority: str) -> IssueToken:
    """Return a function that requests tokens; `authority` is the server's CA certificate in PEM."""

    async def issue(namespace: str, name: str) -> Files:
        target = format_target(kind_of(ServiceAccount), namespace, name, "token")
        asked = TokenRequest(
            api_version="authentication.k8s.io/v1",
            kind="TokenRequest",
            spec=TokenRequestSpec(expiration_seconds=SECONDS),
        )
        headers = {"content-type": "application/json", "accept": "application/json"}
        reply = await transport.call(Call("POST", target, headers, encode(asked)))
        if reply.status >= 400:
            raise parse_status_error(reply.body, reply.status)
        answer = decode(reply.body, TokenRequest)
        token = answer.status.token if answer.status is not None else ""
        return {"token": token.encode(), "ca.crt": authority.encode(), "namespace": namespace.encode()}

    return issue

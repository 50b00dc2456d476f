"""
Actions on VMs and their instances: start, stop, pause and the like, in the group that KubeVirt has for them.

Knows where they are and how they are asked for; what they do is the server's business.
"""

from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

import msgspec

from virtshape.client.rest import RestClient

GROUP: Final = "subresources.kubevirt.io"
VERSION: Final = "v1"

Resource = Literal["virtualmachines", "virtualmachineinstances"]


def format_action(
    namespace: str, resource: Resource, name: str, action: str, query: dict[str, str] | None = None
) -> str:
    """The path of an action on an object; an action with arguments has them behind slashes."""
    path = f"/apis/{GROUP}/{VERSION}/namespaces/{quote(namespace, safe='')}/{resource}/{quote(name, safe='')}/{action}"
    return f"{path}?{urlencode(query)}" if query else path


async def request_action(
    client: RestClient, namespace: str, resource: Resource, name: str, action: str, options: Any = None
) -> None:
    """Ask for an action; StatusError if it is refused."""
    body = b"" if options is None else msgspec.json.encode(options)
    # KubeVirt answers with no body at all, and only those who take any kind of it.
    await client.request("PUT", format_action(namespace, resource, name, action), body, accept="*/*")


async def expand_stored(client: RestClient, namespace: str, name: str) -> Any:
    """A VM of the server, with all that it refers to written out, as a tree."""
    reply = await client.request("GET", format_action(namespace, "virtualmachines", name, "expand-spec"))
    return msgspec.json.decode(reply.body)


async def expand_sent(client: RestClient, namespace: str, tree: Any) -> Any:
    """A VM that the server does not have, with all that it refers to there written out, as a tree."""
    target = f"/apis/{GROUP}/{VERSION}/namespaces/{quote(namespace, safe='')}/expand-vm-spec"
    return msgspec.json.decode((await client.request("PUT", target, msgspec.json.encode(tree))).body)


async def read_version(client: RestClient) -> Any:
    """What the server says it is, as a tree."""
    return msgspec.json.decode((await client.request("GET", f"/apis/{GROUP}/{VERSION}/version")).body)

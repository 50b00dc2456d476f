"""Actions on VMs and VMIs, such as start, stop and pause, in KubeVirt's subresources API group."""

from typing import Any, Final, Literal
from urllib.parse import quote, urlencode

import msgspec

from virtshape.api.status import StatusError
from virtshape.client.rest import RestClient

GROUP: Final = "subresources.kubevirt.io"
VERSION: Final = "v1"

Resource = Literal["virtualmachines", "virtualmachineinstances"]


def format_action(
    namespace: str, resource: Resource, name: str, action: str, query: dict[str, str] | None = None
) -> str:
    """Return the path of an action on an object; `action` may have arguments after slashes."""
    path = f"/apis/{GROUP}/{VERSION}/namespaces/{quote(namespace, safe='')}/{resource}/{quote(name, safe='')}/{action}"
    return f"{path}?{urlencode(query)}" if query else path


async def request_action(
    client: RestClient, namespace: str, resource: Resource, name: str, action: str, options: Any = None
) -> None:
    """Request an action; raise StatusError if the server rejects it."""
    body = b"" if options is None else msgspec.json.encode(options)
    # KubeVirt responds without a body, and only to clients that accept any media type.
    await client.request("PUT", format_action(namespace, resource, name, action), body, accept="*/*")


async def expand_stored(client: RestClient, namespace: str, name: str) -> Any:
    """Return a stored VM, expanded with its instance type and preference, as decoded JSON."""
    reply = await client.request("GET", format_action(namespace, "virtualmachines", name, "expand-spec"))
    return msgspec.json.decode(reply.body)


async def expand_sent(client: RestClient, namespace: str, tree: Any) -> Any:
    """Send a VM that is not stored to the server; return the VM that the server expanded, as decoded JSON."""
    target = f"/apis/{GROUP}/{VERSION}/namespaces/{quote(namespace, safe='')}/expand-vm-spec"
    return msgspec.json.decode((await client.request("PUT", target, msgspec.json.encode(tree))).body)


async def list_resources(client: RestClient) -> set[str]:
    """Return the names of the resources in this API group; an empty set if the server does not serve the group."""
    try:
        reply = await client.request("GET", f"/apis/{GROUP}/{VERSION}")
    except StatusError as error:
        if error.code == 404:
            return set()
        raise
    return {resource["name"] for resource in msgspec.json.decode(reply.body)["resources"]}


async def read_version(client: RestClient) -> Any:
    """Return the version that the server reports, as decoded JSON."""
    return msgspec.json.decode((await client.request("GET", f"/apis/{GROUP}/{VERSION}/version")).body)

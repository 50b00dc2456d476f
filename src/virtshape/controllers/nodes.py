"""Create and update the node objects of launchers, and delete simulated nodes of earlier runs."""

from typing import Final

from msgspec.structs import replace

from virtshape.api.core.node import Node, NodeCondition, NodeStatus
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.api.times import format_time
from virtshape.api.wellknown import HOSTNAME_LABEL
from virtshape.client.protocol import Client
from virtshape.client.resources import metadata_of
from virtshape.controllers.vmi.launcher import SIMULATED_LABEL, Launcher

MAX_ATTEMPTS: Final = 8
"""Maximum attempts to write the status of a node, because other clients may update a new node at the same time."""


async def update_node(client: Client, launcher: Launcher | None, now: float) -> dict[str, Launcher]:
    """
    Create or update the launcher's node, if it has one, and delete stale simulated nodes.

    Return a mapping of node name to launcher, which is empty if there is no launcher with a node.
    """
    wanted = launcher.describe_node(format_time(now)) if launcher is not None else None
    name = (metadata_of(wanted).name or "") if wanted is not None else ""
    listing = await client.list(Node, labels=f"{SIMULATED_LABEL}=true")
    for node in listing.items:
        if metadata_of(node).name != name:
            await client.delete(Node, metadata_of(node).name or "")
    if wanted is None or launcher is None:
        return {}
    await _put(client, wanted)
    return {name: launcher}


async def mark_node_not_ready(client: Client, name: str, message: str, now: float) -> Node:
    """Set a node's Ready condition to False, creating the node if needed; return the node."""
    stamp = format_time(now)
    wanted = NodeCondition("Ready", "False", stamp, stamp, message, "LauncherFailed")
    node = Node(api_version="v1", kind="Node", metadata=ObjectMeta(name=name, labels={HOSTNAME_LABEL: name}))
    try:
        current = await client.create(node)
    except StatusError as error:
        if error.reason != "AlreadyExists":
            raise
        current = await client.get(Node, name)
    status = current.status or NodeStatus()
    others = [one for one in status.conditions or () if one.type != wanted.type]
    before = next((one for one in status.conditions or () if one.type == wanted.type), None)
    if before is not None and before.status == wanted.status:
        wanted = replace(wanted, last_transition_time=before.last_transition_time)
    return await client.update_status(replace(current, status=replace(status, conditions=[*others, wanted])))


async def _put(client: Client, wanted: Node) -> None:
    metadata = metadata_of(wanted)
    name = metadata.name or ""
    try:
        current = await client.create(wanted)
    except StatusError as error:
        if error.reason != "AlreadyExists":
            raise
        current = await client.patch(Node, name, patch={"metadata": {"labels": metadata.labels}})
    for left in reversed(range(MAX_ATTEMPTS)):
        try:
            await client.update_status(replace(current, status=wanted.status))
        except StatusError as error:
            if error.code != 409 or not left:
                raise
            current = await client.get(Node, name)
        else:
            return

"""Map KubeVirt's subresources to requests for launcher processes, and the launchers' responses to KubeVirt's format."""

from typing import Final

import msgspec

from virtshape.api.model import JsonObject
from virtshape.apiserver.subresources.protocol import AgentQuery, GuestAction
from virtshape.launcher.controlprotocol import (
    Answer,
    Pause,
    QueryFilesystems,
    QueryOs,
    QueryUsers,
    Request,
    Reset,
    SoftReboot,
    Unpause,
)

ACTIONS: Final[dict[GuestAction, Request]] = {
    "pause": Pause(),
    "unpause": Unpause(),
    "softreboot": SoftReboot(),
    "reset": Reset(),
}
AGENT_REQUESTS: Final[dict[AgentQuery, Request]] = {
    "guestosinfo": QueryOs(),
    "userlist": QueryUsers(),
    "filesystemlist": QueryFilesystems(),
}


def format_agent_response(query: AgentQuery, answer: Answer) -> bytes:
    """Return the guest agent's response as JSON in KubeVirt's format."""
    return msgspec.json.encode(_write_os(answer) if query == "guestosinfo" else {"items": _write_items(answer)})


def _write_os(answer: Answer) -> JsonObject:
    found = answer.os
    if found is None:
        return {"os": {}}
    system = {
        "name": found.name,
        "kernelRelease": found.kernel_release,
        "version": found.version,
        "prettyName": found.pretty_name,
        "versionId": found.version_id,
        "kernelVersion": found.kernel_version,
        "machine": found.machine,
        "id": found.id,
    }
    host = {"hostname": found.hostname, "timezone": found.timezone}
    return {**{name: value for name, value in host.items() if value}, "os": {k: v for k, v in system.items() if v}}


def _write_items(answer: Answer) -> list[JsonObject]:
    if answer.users is not None:
        return [{"userName": user.name, "domain": user.domain, "loginTime": user.login_time} for user in answer.users]
    return [
        {
            "diskName": one.name,
            "mountPoint": one.mount_point,
            "fileSystemType": one.type,
            "usedBytes": one.used or 0,
            "totalBytes": one.total or 0,
            "disk": [{"serial": disk.get("serial", ""), "busType": disk.get("target", "")} for disk in one.disks],
        }
        for one in answer.filesystems or ()
    ]

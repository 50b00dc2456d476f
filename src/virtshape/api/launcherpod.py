"""
Contract between the controller that creates launcher pods and the launcher in the pod.

It consists of paths in the container, its environment variable, the command that clients exec, the termination message,
and the label that Services select.
"""

import hashlib
from typing import Final

import msgspec
from msgspec import Struct

MAX_BYTES: Final = 4096
"""The maximum size of a termination message in Kubernetes."""

ROOT: Final = "/run/virtshape"
"""The directory in which the container writes files."""
RUNNING: Final = f"{ROOT}/running"
"""A file that exists while the guest runs and is ready."""
MOUNTS: Final = f"{ROOT}/mounts"
"""The directory of the mount points of volumes that are directories."""
DEVICES: Final = "/dev/virtshape-"
"""Path prefix of volumes that are block devices."""
STATE: Final = f"{ROOT}/state"
"""The directory with the persistent state of a VM, if it has any."""
INSTANCE_VARIABLE: Final = "VIRTSHAPE_INSTANCE"
"""The environment variable that holds the instance, as JSON."""
TERMINATION_LOG: Final = "/dev/termination-log"
"""The container's termination message path."""
EXEC_COMMAND: Final = ("python3", "-m", "virtshape.launcher.pod.exec")
"""The command that clients exec in the pod, followed by an action."""
EXEC_ACTIONS: Final = ("ask", "console", "vnc", "port", "log")
"""The actions of `EXEC_COMMAND`."""
KERNEL: Final = "kernelBoot"
"""The name under which the kernel boot container image is mounted; it is not a volume."""
CREDENTIALS_SUFFIX: Final = "-access-cred"
"""Suffix of the mount name of a secret with access credentials."""
_MAX_LABEL_LENGTH: Final = 63


def find_directory(name: str) -> str:
    """Return the path of a volume that is a directory."""
    return f"{MOUNTS}/{name}"


def find_device(name: str) -> str:
    """Return the path of a volume that is a block device."""
    return f"{DEVICES}{name}"


def format_vmi_id(name: str) -> str:
    """Return the value of the label `vmi.kubevirt.io/id`: the instance's name, shortened as in KubeVirt."""
    if len(name) <= _MAX_LABEL_LENGTH:
        return name
    mark = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()[:8]
    return f"{name[: _MAX_LABEL_LENGTH - len(mark) - 1]}-{mark}"


class TerminationMessage(Struct, omit_defaults=True, frozen=True):
    """Why a guest ended: a reason for programs and a message for users."""

    reason: str = ""
    message: str = ""


def format_termination_message(message: TerminationMessage) -> bytes:
    """Format the message, truncated to the maximum size."""
    while len(text := msgspec.json.encode(message)) > MAX_BYTES:
        message = TerminationMessage(message.reason[:MAX_BYTES], message.message[: len(message.message) // 2])
    return text


def parse_termination_message(text: str) -> TerminationMessage:
    """Parse a termination message; any other text becomes the message."""
    try:
        return msgspec.json.decode(text, type=TerminationMessage)
    except msgspec.DecodeError:
        return TerminationMessage(message=text.strip())

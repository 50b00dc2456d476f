"""
Contract between the controller that creates launcher pods and the launcher that runs in such a pod.

The contract consists of paths in the container, environment variables, the command that clients exec, the termination
message, and the label that Services select.
"""

import hashlib
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

MAX_BYTES: Final = 4096
"""The maximum size of a termination message in Kubernetes."""

ROOT: Final = "/run/virtshape"
"""The directory in which the container writes files."""
STARTED: Final = f"{ROOT}/started"
"""A file that exists while the guest runs."""
RUNNING: Final = f"{ROOT}/running"
"""A file that exists while the guest runs and is ready."""
MOUNTS: Final = f"{ROOT}/mounts"
"""The directory with the mount points of volumes that are mounted as directories."""
DEVICES: Final = "/dev/virtshape-"
"""The path prefix of volumes that are block devices."""
STATE: Final = f"{ROOT}/state"
"""The directory with the persistent state of a VM, if it has any."""
INSTANCE_VARIABLE: Final = "VIRTSHAPE_INSTANCE"
"""The environment variable with the instance, as JSON."""
CLAIM_SIZES_VARIABLE: Final = "VIRTSHAPE_CLAIM_SIZES"
"""The environment variable with the sizes of the instance's claims in bytes, by volume name, as JSON."""
TERMINATION_LOG: Final = "/dev/termination-log"
"""The container's termination message path."""
REPORT: Final = f"{ROOT}/report.json"
"""A file with the launcher's last report about the guest."""
REPORT_COMMAND: Final = ("cat", REPORT)
"""The command with which the controllers read the report."""
EXEC_COMMAND: Final = ("python3", "-m", "virtshape.launcher.pod.exec")
"""The command that clients exec in the pod, followed by an action."""
RESIZE_ACTION: Final = "resize"
"""The action with which the controllers resize the guest, followed by vCPUs and bytes of memory; 0 changes nothing."""
EXEC_ACTIONS: Final = ("ask", "console", "vnc", "port", "log")
"""The actions of `EXEC_COMMAND` for users."""
DEMO_IMAGE: Final = "virtshape.local/demo"
"""The container disk of the demo guest. It is not in any registry: servers build it, and launcher images contain it."""
DEMO_DISK: Final = "/opt/virtshape/demo/disk.img"
"""The path of the demo guest's disk in launcher images."""
KERNEL: Final = "kernelBoot"
"""The name under which the container image for kernel boot, which is not a volume, is mounted."""
CREDENTIALS_SUFFIX: Final = "-access-cred"
"""The suffix of the name under which a secret with access credentials is mounted."""
_MAX_LABEL_LENGTH: Final = 63


def find_directory(name: str) -> str:
    """Return the path at which a volume is mounted as a directory."""
    return f"{MOUNTS}/{name}"


def find_device(name: str) -> str:
    """Return the path of a volume that is a block device."""
    return f"{DEVICES}{name}"


def is_demo_image(image: str | None) -> bool:
    """Return True if the name of a container disk refers to the demo guest."""
    return image in (DEMO_IMAGE, f"{DEMO_IMAGE}:latest")


def format_vmi_id(name: str) -> str:
    """Return the value of the label `vmi.kubevirt.io/id`: the instance's name, shortened as in KubeVirt."""
    if len(name) <= _MAX_LABEL_LENGTH:
        return name
    mark = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()[:8]
    return f"{name[: _MAX_LABEL_LENGTH - len(mark) - 1]}-{mark}"


def format_claim_sizes(sizes: Mapping[str, int]) -> str:
    """Return the sizes of claims as JSON."""
    return msgspec.json.encode(sizes).decode()


def parse_claim_sizes(text: str) -> dict[str, int]:
    """Parse the sizes of claims; return an empty dict for an empty text."""
    return msgspec.json.decode(text, type=dict[str, int]) if text else {}


class TerminationMessage(Struct, omit_defaults=True, frozen=True):
    """Why a guest ended: a reason for programs and a message for users."""

    reason: str = ""
    message: str = ""


def format_termination_message(message: TerminationMessage) -> bytes:
    """Return the message as JSON, truncated to the maximum size."""
    while len(text := msgspec.json.encode(message)) > MAX_BYTES:
        message = TerminationMessage(message.reason[:MAX_BYTES], message.message[: len(message.message) // 2])
    return text


def parse_termination_message(text: str) -> TerminationMessage:
    """Parse a termination message; if the text is not valid JSON, use it as the `message`."""
    try:
        return msgspec.json.decode(text, type=TerminationMessage)
    except msgspec.DecodeError:
        return TerminationMessage(message=text.strip())

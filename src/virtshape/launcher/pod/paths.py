"""Paths in a launcher container, shared by the controller that creates the pod and the launcher in it."""

from typing import Final

ROOT: Final = "/run/virtshape"
"""The directory that the container writes to."""
RUNNING: Final = f"{ROOT}/running"
"""A file that exists while the guest runs and is ready."""
MOUNTS: Final = f"{ROOT}/mounts"
"""Mount point of volumes that are directories, by name."""
DEVICES: Final = "/dev/virtshape-"
"""Path prefix of volumes that are block devices."""
STATE: Final = f"{ROOT}/state"
"""Persistent state of a VM, if it has any."""
INSTANCE_VARIABLE: Final = "VIRTSHAPE_INSTANCE"
"""The instance, as JSON."""
TERMINATION_LOG: Final = "/dev/termination-log"
"""The container's termination message path."""
EXEC_COMMAND: Final = ("python3", "-m", "virtshape.launcher.pod.visit")
"""The command that clients exec in the pod, followed by an action."""
EXEC_ACTIONS: Final = ("ask", "console", "vnc", "port", "log")
"""The actions of that command."""
KERNEL: Final = "kernelBoot"
"""The mount of the kernel boot container image, which is not a volume."""
CREDENTIALS_SUFFIX: Final = "-access-cred"
"""Suffix of the mount of a secret with access credentials."""


def find_directory(name: str) -> str:
    """Return the path of a volume that is a directory."""
    return f"{MOUNTS}/{name}"


def find_device(name: str) -> str:
    """Return the path of a volume that is a block device."""
    return f"{DEVICES}{name}"

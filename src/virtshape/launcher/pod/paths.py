"""
Where things are in the container that runs a guest: agreed between whoever makes the pod and the launcher in it.

Only names.
"""

from typing import Final

ROOT: Final = "/run/virtshape"
"""All that the container writes."""
RUNNING: Final = f"{ROOT}/running"
"""A file that is there for as long as the guest runs."""
MOUNTS: Final = f"{ROOT}/mounts"
"""Volumes that are directories, each under its name."""
DEVICES: Final = "/dev/virtshape-"
"""Volumes that are block devices: each behind this, under its name."""
STATE: Final = f"{ROOT}/state"
"""What a VM keeps from pod to pod, if it keeps anything."""
INSTANCE_VARIABLE: Final = "VIRTSHAPE_INSTANCE"
"""The instance, as JSON."""
TERMINATION_LOG: Final = "/dev/termination-log"
"""Where Kubernetes reads a container's last words."""
EXEC_COMMAND: Final = ("python3", "-m", "virtshape.launcher.pod.visit")
"""The command that reaches the guest from outside; what to do there follows it."""
EXEC_ACTIONS: Final = ("ask", "console", "vnc", "port", "log")
"""What can follow that command."""
KERNEL: Final = "kernelBoot"
"""The mount that no volume stands for: the image that a guest's kernel comes in."""
CREDENTIALS_SUFFIX: Final = "-access-cred"
"""What the mount of a secret with credentials is called, after the secret's name."""


def find_directory(name: str) -> str:
    """Where a volume is that is a directory."""
    return f"{MOUNTS}/{name}"


def find_device(name: str) -> str:
    """Where a volume is that is a block device."""
    return f"{DEVICES}{name}"

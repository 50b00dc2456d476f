"""
How a guest is doing, as whatever runs it tells the instance controller.

Plain facts in the words of an instance's status.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.kubevirt.status import (
    VirtualMachineInstanceGuestOSInfo,
    VirtualMachineInstanceNetworkInterface,
    VolumeStatus,
)
from virtshape.api.quantity import Quantity

GuestState = Literal["placing", "waiting", "refused", "starting", "running", "paused", "succeeded", "failed"]
"""Placing: it has no node yet. Waiting: something it needs is missing. Refused: what it asks for cannot be had here."""


class GuestStatus(Struct, frozen=True):
    """How a guest is doing, and why if it has ended or cannot begin."""

    state: GuestState
    message: str = ""
    reason: str = ""
    stand_ins: tuple[str, ...] = ()
    """What it got in place of something that is not to be had here."""
    machine: str = ""
    """The machine type that it has."""
    topology: CPUTopology | None = None
    """Its vCPUs as they are now, where they can change."""
    memory: Quantity | None = None
    """Its memory as it is now, where that can change."""
    misfit: str = ""
    """Why it could not be given the size that its instance has by now."""
    interfaces: tuple[VirtualMachineInstanceNetworkInterface, ...] = ()
    volumes: tuple[VolumeStatus, ...] = ()
    ports: tuple[str, ...] = ()
    """Which ports of it can be reached from its node, and where, in words."""
    agent: bool = False
    """Whether the agent in it answers."""
    logins: str | None = None
    """Why keys and passwords are not in it; empty once they are, None if nobody has tried."""
    os: VirtualMachineInstanceGuestOSInfo | None = None
    node: str = ""
    """The node that it is on, where whatever runs it finds one itself."""
    pods: Mapping[str, str] | None = None
    """The nodes of the pods that it has, by the pods' uids."""
    qos: Literal["BestEffort", "Burstable", "Guaranteed"] | None = None
    """How its pod fares when a node runs short."""
    unready: str = ""
    """Why it cannot be reached although it is taken to run."""

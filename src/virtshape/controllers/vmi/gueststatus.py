"""State of a guest, as a launcher reports it to the instance controller."""

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
"""
`placing`: not scheduled yet.

`waiting`: something that the guest needs is missing. `refused`: the launcher can never run the guest.
"""


class GuestStatus(Struct, frozen=True):
    """State of a guest, with reason and message if it ended or cannot start."""

    state: GuestState
    message: str = ""
    reason: str = ""
    substitutions: tuple[str, ...] = ()
    """Features that were replaced because they are not available on the node."""
    machine: str = ""
    """Machine type of the guest."""
    topology: CPUTopology | None = None
    """Current CPU topology, if it can change."""
    memory: Quantity | None = None
    """Current memory, if it can change."""
    resize_error: str = ""
    """Why the guest could not be resized to the size of its instance."""
    interfaces: tuple[VirtualMachineInstanceNetworkInterface, ...] = ()
    volumes: tuple[VolumeStatus, ...] = ()
    is_settled: bool = True
    """False while volumes of a running guest wait to be attached or detached, or the guest waits to be resized."""
    ports: tuple[str, ...] = ()
    """Messages about the guest's ports that are reachable from its node."""
    agent: bool = False
    """True if the guest agent responds."""
    logins: str | None = None
    """Why setting access credentials in the guest failed; empty on success, None if it was not attempted."""
    os: VirtualMachineInstanceGuestOSInfo | None = None
    node: str = ""
    """Node of the guest, if the launcher does its own scheduling."""
    pods: Mapping[str, str] | None = None
    """Node names of the guest's pods, by pod UID."""
    qos: Literal["BestEffort", "Burstable", "Guaranteed"] | None = None
    """QoS class of the pod."""
    image: str = ""
    """Image of the launcher, if it runs in a container."""
    user: int | None = None
    """User id of the launcher."""
    unready: str = ""
    """Why a running guest is not ready."""
    unresponsive: str = ""
    """Why the hypervisor of a running guest does not respond."""

"""Tap devices: create them for a guest, attach them to a bridge, and remove them with the guest, as root."""

import errno
import fcntl
import logging
import os
import socket
import stat
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.design.devices.interfaces import design_interfaces
from virtshape.launcher.domain.devices.interface import Interface
from virtshape.launcher.host import Host
from virtshape.launcher.node.account import GUEST_USER, Account

DEVICE: Final = Path("/dev/net/tun")
NETWORKS: Final = Path("/sys/class/net")
_TUNSETIFF, _TUNSETPERSIST, _TUNSETOWNER = 0x400454CA, 0x400454CB, 0x400454CC
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCBRADDIF = 0x8913, 0x8914, 0x89A2
_RTM_DELLINK, _NLM_F_REQUEST, _NLM_F_ACK, _LINK_REQUEST_BYTES = 17, 0x1, 0x4, 32
_ACKNOWLEDGEMENT_HEADER_BYTES: Final = 16
_IFF_UP, _IFF_TAP, _IFF_MULTI_QUEUE, _IFF_NO_PI, _IFF_VNET_HDR = 0x1, 0x2, 0x100, 0x1000, 0x4000
_log = logging.getLogger(__name__)


class TapError(Exception):
    """A tap device could not be created."""


def may_make_taps() -> bool:
    """Return True if this process is root and the host supports tap devices."""
    return os.geteuid() == 0 and DEVICE.exists()


def list_taps(vmi: VirtualMachineInstance, host: Host) -> list[Interface]:
    """Return the interfaces of an instance that are attached to bridges of the host."""
    context = DesignContext(vmi=vmi, host=host, sources={}, directory="")
    return [interface for interface in design_interfaces(context) if interface.device is not None]


def make_taps(interfaces: Iterable[Interface], account: Account) -> None:
    """Create or replace the interfaces' devices, and attach them to their bridges; raise TapError on failure."""
    for interface in interfaces:
        device, bridge = interface.device or "", interface.bridge or ""
        if not (NETWORKS / bridge / "bridge").exists():
            raise TapError(
                f"the network of the interface {interface.name} is not ready: this host has no bridge {bridge}"
            )
        remove_tap(device)
        try:
            open_tun_to_guests(account)
            _make(device, account, multi_queue=interface.queues is not None)
            _attach(device, bridge)
        except OSError as error:
            remove_tap(device)
            reason = f"attaching a tap device to {bridge} failed: {error.strerror}"
            raise TapError(f"the network of the interface {interface.name} is not ready: {reason}") from error


def remove_tap(device: str) -> None:
    """Remove a device if it exists, even if a guest uses it; log a failure."""
    if not (NETWORKS / device / "tun_flags").exists():
        return
    header = struct.pack("=IHHII", _LINK_REQUEST_BYTES, _RTM_DELLINK, _NLM_F_REQUEST | _NLM_F_ACK, 0, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW) as handle:
            handle.send(header + struct.pack("=BxHiII", socket.AF_UNSPEC, 0, socket.if_nametoindex(device), 0, 0))
            _require_acknowledgement(handle.recv(4096))  # the kernel acknowledges after removal
    except OSError as error:
        _log.warning(
            "removing unused tap device %s failed: %s; remove it with `ip link delete`", device, error.strerror
        )


def _require_acknowledgement(message: bytes) -> None:
    """Raise OSError if the kernel's acknowledgement contains an error."""
    (code,) = struct.unpack_from("=i", message, _ACKNOWLEDGEMENT_HEADER_BYTES)
    if code and -code != errno.ENODEV:
        raise OSError(-code, os.strerror(-code))


def open_tun_to_guests(account: Account) -> None:
    """Allow guests to open /dev/net/tun; the kernel checks the owner of each tap device."""
    if os.geteuid() == 0 and DEVICE.exists() and not account.may(DEVICE, 6):
        os.chown(DEVICE, -1, GUEST_USER)
        DEVICE.chmod(stat.S_IMODE(DEVICE.stat().st_mode) | stat.S_IRGRP | stat.S_IWGRP)


def _make(device: str, account: Account, *, multi_queue: bool) -> None:
    flags = _IFF_TAP | _IFF_NO_PI | _IFF_VNET_HDR | (_IFF_MULTI_QUEUE if multi_queue else 0)
    with DEVICE.open("r+b", buffering=0) as handle:
        fcntl.ioctl(handle, _TUNSETIFF, _name(device, flags))
        fcntl.ioctl(handle, _TUNSETOWNER, account.user)
        fcntl.ioctl(handle, _TUNSETPERSIST, 1)


def _attach(device: str, bridge: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        fcntl.ioctl(
            handle, _SIOCBRADDIF, struct.pack("16si", bridge.encode(), socket.if_nametoindex(device)) + bytes(20)
        )
        (_, flags) = struct.unpack_from("16sH", fcntl.ioctl(handle, _SIOCGIFFLAGS, _name(device, 0)))
        fcntl.ioctl(handle, _SIOCSIFFLAGS, _name(device, flags | _IFF_UP))


def _name(device: str, flags: int) -> bytes:
    return struct.pack("16sH", device.encode(), flags) + bytes(22)

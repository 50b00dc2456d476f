"""
Parse the guest agent's answers, which libvirt returns as flat key-value pairs.

The values come from the guest and are untrusted: types are checked, and texts and lists are truncated.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from virtshape.launcher.controlprotocol import Filesystem, User
from virtshape.launcher.report import GuestOs, Interface

GuestInfo = Mapping[str, Any]
MAX_ITEMS: Final = 256
"""Maximum number of users, file systems, interfaces, addresses or disks read from one answer."""
MAX_TEXT_LENGTH: Final = 1024
"""Maximum number of characters read from one value."""


def read_os(info: GuestInfo) -> GuestOs:
    """Return the guest's operating system."""
    return GuestOs(
        id=_text(info, "os.id"),
        name=_text(info, "os.name"),
        pretty_name=_text(info, "os.pretty-name"),
        version=_text(info, "os.version"),
        version_id=_text(info, "os.version-id"),
        kernel_release=_text(info, "os.kernel-release"),
        kernel_version=_text(info, "os.kernel-version"),
        machine=_text(info, "os.machine"),
        hostname=_text(info, "hostname"),
        timezone=_text(info, "timezone.name"),
    )


def read_users(info: GuestInfo) -> tuple[User, ...]:
    """Return the users who are logged in."""
    return tuple(
        User(name=_text(info, f"{key}.name"), domain=_text(info, f"{key}.domain"), login_time=_login_time(info, key))
        for key in _keys(info, "user")
    )


def read_filesystems(info: GuestInfo) -> tuple[Filesystem, ...]:
    """Return the guest's file systems."""
    return tuple(
        Filesystem(
            name=_text(info, f"{key}.name"),
            mount_point=_text(info, f"{key}.mountpoint"),
            type=_text(info, f"{key}.fstype"),
            total=_number(info, f"{key}.total-bytes"),
            used=_number(info, f"{key}.used-bytes"),
            disks=tuple(_read_disk(info, disk) for disk in _keys(info, f"{key}.disk")),
        )
        for key in _keys(info, "fs")
    )


def read_interfaces(info: GuestInfo) -> tuple[Interface, ...]:
    """Return the guest's network interfaces that have a MAC address, which excludes loopback."""
    found = (
        Interface(
            guest_name=_text(info, f"{key}.name"),
            mac=_text(info, f"{key}.hwaddr").lower(),
            addresses=tuple(_text(info, f"{address}.addr") for address in _keys(info, f"{key}.addr")),
            from_agent=True,
        )
        for key in _keys(info, "if")
    )
    return tuple(one for one in found if one.mac not in ("", "00:00:00:00:00:00"))


def join_interfaces(known: Sequence[Interface], reported: Sequence[Interface]) -> tuple[Interface, ...]:
    """Merge the domain's interfaces with those that the guest reports, matched by MAC address."""
    by_mac = {one.mac: one for one in reported}
    joined = []
    for one in known:
        other = by_mac.pop(one.mac.lower(), None)
        if other is not None:
            addresses = other.addresses or one.addresses
            one = replace(one, guest_name=other.guest_name, addresses=addresses, from_agent=True)
        joined.append(one)
    return (*joined, *by_mac.values())


def _read_disk(info: GuestInfo, key: str) -> dict[str, str]:
    names = {"serial": "serial", "device": "device", "alias": "target"}
    return {member: _text(info, f"{key}.{name}") for name, member in names.items() if f"{key}.{name}" in info}


def _login_time(info: GuestInfo, key: str) -> float | None:
    milliseconds = _number(info, f"{key}.login-time")
    return None if milliseconds is None else milliseconds / 1000


def _keys(info: GuestInfo, prefix: str) -> Iterator[str]:
    count = _number(info, f"{prefix}.count") or 0
    return (f"{prefix}.{number}" for number in range(min(count, MAX_ITEMS)))


def _text(info: GuestInfo, key: str) -> str:
    value = info.get(key, "")
    return value[:MAX_TEXT_LENGTH] if isinstance(value, str) else ""


def _number(info: GuestInfo, key: str) -> int | None:
    value = info.get(key)
    return value if isinstance(value, int) else None

"""
What a guest's agent tells, from libvirt's flat words to plain facts.

Pure: dicts in, structs out. A guest may say anything, so nothing is taken for granted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from virtshape.launcher.report import GuestOs, Interface
from virtshape.launcher.request import Filesystem, User

Told = Mapping[str, Any]
MOST_ITEMS: Final = 256
"""Users, file systems, interfaces, addresses or disks that are read of one answer."""
LONGEST_TEXT: Final = 1024
"""Characters that are read of one text."""


def read_os(told: Told) -> GuestOs:
    """The system that runs in the guest."""
    return GuestOs(
        id=_text(told, "os.id"),
        name=_text(told, "os.name"),
        pretty_name=_text(told, "os.pretty-name"),
        version=_text(told, "os.version"),
        version_id=_text(told, "os.version-id"),
        kernel_release=_text(told, "os.kernel-release"),
        kernel_version=_text(told, "os.kernel-version"),
        machine=_text(told, "os.machine"),
        hostname=_text(told, "hostname"),
        timezone=_text(told, "timezone.name"),
    )


def read_users(told: Told) -> tuple[User, ...]:
    """Who is logged in."""
    return tuple(
        User(name=_text(told, f"{key}.name"), domain=_text(told, f"{key}.domain"), login_time=_login_time(told, key))
        for key in _keys(told, "user")
    )


def read_filesystems(told: Told) -> tuple[Filesystem, ...]:
    """The guest's file systems."""
    return tuple(
        Filesystem(
            name=_text(told, f"{key}.name"),
            mount_point=_text(told, f"{key}.mountpoint"),
            type=_text(told, f"{key}.fstype"),
            total=_number(told, f"{key}.total-bytes"),
            used=_number(told, f"{key}.used-bytes"),
            disks=tuple(_read_disk(told, disk) for disk in _keys(told, f"{key}.disk")),
        )
        for key in _keys(told, "fs")
    )


def read_interfaces(told: Told) -> tuple[Interface, ...]:
    """The guest's network interfaces, but for its loopback."""
    found = (
        Interface(
            guest_name=_text(told, f"{key}.name"),
            mac=_text(told, f"{key}.hwaddr").lower(),
            addresses=tuple(_text(told, f"{address}.addr") for address in _keys(told, f"{key}.addr")),
            from_agent=True,
        )
        for key in _keys(told, "if")
    )
    return tuple(one for one in found if one.mac not in ("", "00:00:00:00:00:00"))


def join_interfaces(known: Sequence[Interface], told: Sequence[Interface]) -> tuple[Interface, ...]:
    """What the domain knows of its interfaces and what the guest tells of them, matched by their MAC addresses."""
    by_mac = {one.mac: one for one in told}
    joined = []
    for one in known:
        other = by_mac.pop(one.mac.lower(), None)
        if other is not None:
            addresses = other.addresses or one.addresses
            one = replace(one, guest_name=other.guest_name, addresses=addresses, from_agent=True)
        joined.append(one)
    return (*joined, *by_mac.values())


def _read_disk(told: Told, key: str) -> dict[str, str]:
    names = {"serial": "serial", "device": "device", "alias": "target"}
    return {member: _text(told, f"{key}.{name}") for name, member in names.items() if f"{key}.{name}" in told}


def _login_time(told: Told, key: str) -> float | None:
    milliseconds = _number(told, f"{key}.login-time")
    return None if milliseconds is None else milliseconds / 1000


def _keys(told: Told, prefix: str) -> Iterator[str]:
    count = _number(told, f"{prefix}.count") or 0
    return (f"{prefix}.{number}" for number in range(min(count, MOST_ITEMS)))


def _text(told: Told, key: str) -> str:
    value = told.get(key, "")
    return value[:LONGEST_TEXT] if isinstance(value, str) else ""


def _number(told: Told, key: str) -> int | None:
    value = told.get(key)
    return value if isinstance(value, int) else None

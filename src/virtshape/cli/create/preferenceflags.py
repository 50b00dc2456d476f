"""Flags for the fields of a preference that `create preference` and `customize` share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from virtshape.admission.rules.disks import BUSES
from virtshape.admission.rules.interfaces import MODELS
from virtshape.cli.command import OneOf
from virtshape.engine.preferencechanges import FIRMWARE

F = TypeVar("F", bound=Callable[..., Any])
CDROM_BUSES = tuple(bus for bus in BUSES if bus != "virtio")


def choose(flag: str, choices: tuple[str, ...], help: str) -> Callable[[F], F]:  # noqa: A002 - click's name
    """Declare a flag with choices; an empty value removes the field from the preference."""
    return click.option(flag, type=OneOf(*choices, ""), metavar=f"[{'|'.join(choices)}]", help=help)


def preference_options(function: F) -> F:
    """Add the flags to a command."""
    for option in (
        click.option("--timezone", metavar="ZONE", help="Preferred clock offset: UTC or a zone such as Europe/Oslo."),
        choose("--firmware", FIRMWARE, "Preferred firmware; secure-boot adds secure boot and SMM to efi."),
        choose("--interface-model", MODELS, "Preferred model of network interfaces."),
        choose("--cdrom-bus", CDROM_BUSES, "Preferred bus of CD-ROM drives."),
        choose("--disk-bus", BUSES, "Preferred bus of disks."),
    ):
        function = option(function)
    return function

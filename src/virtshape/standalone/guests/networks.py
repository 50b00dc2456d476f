"""Network settings of guests from the machine configuration."""

from collections.abc import Mapping
from pathlib import Path

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.controllers.storage.files import NotReadyError
from virtshape.launcher.node.account import parse_users
from virtshape.standalone.config import DEFAULT_RANGE, ConfigurationError, Guests, read_configuration


def read_guest_settings(directory: Path) -> tuple[bool, range]:
    """Return whether guests are isolated, and the range of their user ids."""
    try:
        guests = read_configuration(directory).guests or Guests()
    except ConfigurationError as error:
        raise NotReadyError("ConfigurationInvalid", str(error)) from error
    return guests.network != "open", parse_users(guests.users or DEFAULT_RANGE)


def find_bridges(vmi: VirtualMachineInstance, directory: Path) -> Mapping[str, str]:
    """Return the bridges of this machine by network name; empty for an instance that needs none."""
    if all(interface.masquerade is not None for interface in vmi.spec.domain.devices.interfaces or ()):
        return {}
    try:
        return read_configuration(directory).networks or {}
    except ConfigurationError as error:
        raise NotReadyError("ConfigurationInvalid", str(error)) from error

"""
What belongs to one machine and to no object: `config.yaml` in the data directory.

Read whenever it is needed, so that a change counts at once; a directory without it is like one with an empty file.
"""

from pathlib import Path
from typing import Final

from virtshape.api.codec import from_tree
from virtshape.api.model import Model
from virtshape.api.problems import DecodeError
from virtshape.api.quantity import Quantity
from virtshape.api.yaml import YAMLError, read_documents
from virtshape.launcher.images.addresses import parse_network
from virtshape.launcher.node.account import DEFAULT_USERS, parse_users

FILE: Final = "config.yaml"
DEFAULT_RANGE: Final = f"{DEFAULT_USERS[0]}-{DEFAULT_USERS[-1]}"


class Registries(Model):
    """Where container images may come from besides this machine."""

    enabled: bool = True
    """Whether registries are asked at all."""
    plain: list[str] | None = None
    """Registries, as `host:port`, that speak HTTP without TLS; those on this machine may anyway."""


class HostDisks(Model):
    """Disk images of the machine that instances may use by their path."""

    roots: list[str] | None = None
    """The directories that such images may be in; without any, there are none."""


class Imports(Model):
    """What imports may reach over the network."""

    allowed_networks: list[str] | None = None
    """
    Networks, such as `10.1.0.0/16`, that imports may reach although they are not public. Loopback, link-local, private
    and other special addresses are refused unless they are in one of these.
    """


class StorageLimits(Model):
    """How much of the disk imports and uploads may take."""

    reserve: Quantity | None = None
    """Free space that imports, uploads and copies leave for the database; 1Gi if absent."""
    max_image_size: Quantity | None = None
    """The largest disk, download or container image without a size of its own; 100Gi if absent."""


class Guests(Model):
    """How guests are kept apart from the machine and from each other."""

    network: str | None = None
    """`isolated`, the default, or `open`: guests also reach the machine's loopback address as 10.0.2.2."""
    users: str | None = None
    """Range of users that guests run as where root runs the server, as in `60578-61106`; each guest has one."""


class MachineConfiguration(Model):
    """One machine."""

    images: dict[str, str] | None = None
    """Names of container images, and the disk image, OCI layout or archive of this machine that each stands for."""
    registries: Registries | None = None
    """Where other container images may come from."""
    host_disks: HostDisks | None = None
    """Disk images of the machine that instances may use by their path."""
    imports: Imports | None = None
    """What imports may reach over the network."""
    storage: StorageLimits | None = None
    """How much of the disk imports and uploads may take."""
    guests: Guests | None = None
    """How guests are kept apart."""
    networks: dict[str, str] | None = None
    """Networks, as Multus names them or `pod`, and the bridge of this machine that each stands for."""


class ConfigurationError(Exception):
    """A file that is not what it should be."""


def read_configuration(directory: Path) -> MachineConfiguration:
    """The configuration of the machine that a data directory is on; paths in it are absolute."""
    path = directory / FILE
    try:
        documents = read_documents(path.read_bytes(), str(path))
    except FileNotFoundError:
        return MachineConfiguration()
    except (YAMLError, OSError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    if len(documents) > 1:
        raise ConfigurationError(f"{path} holds {len(documents)} documents, and may hold one")
    try:
        found = from_tree(documents[0].tree, MachineConfiguration) if documents else MachineConfiguration()
    except DecodeError as error:
        raise ConfigurationError(f"{path} is not right: {error}") from error
    found.images = {name: str(directory / place) for name, place in (found.images or {}).items()}
    _check_networks(found, path)
    if found.host_disks is not None:
        found.host_disks.roots = [str(directory / root) for root in found.host_disks.roots or ()]
    _check_guests(found.guests or Guests(), path)
    return found


def list_allowed_networks(configuration: MachineConfiguration) -> tuple[str, ...]:
    """Return the networks that imports may reach although they are not public."""
    return tuple((configuration.imports.allowed_networks if configuration.imports else None) or ())


def _check_networks(configuration: MachineConfiguration, path: Path) -> None:
    for index, text in enumerate(list_allowed_networks(configuration)):
        try:
            parse_network(text)
        except ValueError as error:
            where = f"imports.allowedNetworks[{index}]"
            raise ConfigurationError(
                f"{path} is not right: {where}: {error}: expected a network such as 10.1.0.0/16"
            ) from None


def _check_guests(guests: Guests, path: Path) -> None:
    if guests.network not in (None, "isolated", "open"):
        raise ConfigurationError(f'{path}: guests.network: invalid value "{guests.network}": must be isolated or open')
    try:
        parse_users(guests.users or DEFAULT_RANGE)
    except ValueError as error:
        raise ConfigurationError(f"{path}: guests.users: {error}") from error

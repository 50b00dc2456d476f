"""
Machine configuration: `config.yaml` in the data directory.

The file is read whenever it is needed, so changes take effect immediately. A missing file has the same effect as an
empty file.
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
    """Registries of container images."""

    enabled: bool = True
    """Whether images may be pulled from registries."""
    plain: list[str] | None = None
    """Registries, as `host:port`, that may be accessed without TLS; registries on this machine need no entry."""


class HostDisks(Model):
    """Disk images of the machine that instances may use by path."""

    roots: list[str] | None = None
    """Directories that may contain such disk images; none by default."""


class Imports(Model):
    """What imports may access over the network."""

    allowed_networks: list[str] | None = None
    """
    Networks, such as `10.1.0.0/16`, that imports may access although they are not public. Loopback, link-local,
    private and other special addresses are refused unless they are in one of these networks.
    """


class StorageLimits(Model):
    """Disk space that imports and uploads may use."""

    reserve: Quantity | None = None
    """Free space to reserve for the database; 1Gi by default."""
    max_image_size: Quantity | None = None
    """Maximum size of a disk, download or container image whose size is not specified; 100Gi by default."""
    image_cache_size: Quantity | None = None
    """Size of the container image cache above which unused images are removed; 20Gi by default,
    or a quarter of the file system if that is less."""


class Guests(Model):
    """Isolation of guests from the machine and from each other."""

    network: str | None = None
    """`isolated` (default), or `open`, which also lets guests access the machine's loopback address as 10.0.2.2."""
    users: str | None = None
    """Range of user ids for guests if root runs the server, as in `60578-61106`; each guest has its own id."""


class HostConfiguration(Model):
    """The configuration of one machine."""

    images: dict[str, str] | None = None
    """The local disk image, OCI layout or archive to use for each container image, by image name."""
    registries: Registries | None = None
    """Registries of container images."""
    host_disks: HostDisks | None = None
    """Disk images of the machine that instances may use by path."""
    imports: Imports | None = None
    """What imports may access over the network."""
    storage: StorageLimits | None = None
    """Disk space that imports and uploads may use."""
    guests: Guests | None = None
    """Isolation of guests."""
    networks: dict[str, str] | None = None
    """The bridge of this machine to use for each network, by network name: `pod`, or a name as in Multus."""


class ConfigurationError(Exception):
    """The configuration file is invalid."""


def read_configuration(directory: Path) -> HostConfiguration:
    """Return the configuration in a data directory, with absolute paths."""
    path = directory / FILE
    try:
        documents = read_documents(path.read_bytes(), str(path))
    except FileNotFoundError:
        return HostConfiguration()
    except (YAMLError, OSError) as error:
        raise ConfigurationError(f"reading {path} failed: {error}") from error
    if len(documents) > 1:
        raise ConfigurationError(f"{path} contains {len(documents)} YAML documents: only one is allowed")
    try:
        found = from_tree(documents[0].tree, HostConfiguration) if documents else HostConfiguration()
    except DecodeError as error:
        raise ConfigurationError(f"{path} is invalid: {error}") from error
    found.images = {name: str(directory / place) for name, place in (found.images or {}).items()}
    _validate_networks(found, path)
    if found.host_disks is not None:
        found.host_disks.roots = [str(directory / root) for root in found.host_disks.roots or ()]
    _validate_guests(found.guests or Guests(), path)
    return found


def list_allowed_networks(configuration: HostConfiguration) -> tuple[str, ...]:
    """Return the networks that imports may access although they are not public."""
    return tuple((configuration.imports.allowed_networks if configuration.imports else None) or ())


def _validate_networks(configuration: HostConfiguration, path: Path) -> None:
    for index, text in enumerate(list_allowed_networks(configuration)):
        try:
            parse_network(text)
        except ValueError as error:
            where = f"imports.allowedNetworks[{index}]"
            raise ConfigurationError(
                f"{path} is invalid: {where}: {error}: expected a network such as 10.1.0.0/16"
            ) from None


def _validate_guests(guests: Guests, path: Path) -> None:
    if guests.network not in (None, "isolated", "open"):
        raise ConfigurationError(f'{path}: guests.network: invalid value "{guests.network}": must be isolated or open')
    try:
        parse_users(guests.users or DEFAULT_RANGE)
    except ValueError as error:
        raise ConfigurationError(f"{path}: guests.users: {error}") from error

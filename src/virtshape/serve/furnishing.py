"""
What an installation on a cluster holds before anybody writes to it: its configuration, and the catalogue if wanted.

Adds what is missing and never changes what is there. Tries until the cluster takes it.
"""

import asyncio
import logging
from typing import Final

from virtshape import catalog
from virtshape.api.kubevirt.configuration import KubeVirt, KubeVirtConfiguration, KubeVirtSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.client.errors import UnreachableError
from virtshape.client.protocol import Client
from virtshape.client.resources import metadata_of

CONFIGURATION: Final = "kubevirt"
"""The namespace of the configuration, and its name."""
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
_log = logging.getLogger(__name__)


async def furnish(client: Client, *, with_catalog: bool) -> None:
    """Add everything that is missing, however long that takes."""
    wanted: list[Model] = [build_configuration()]
    if with_catalog:
        wanted += catalog.load()
    pause = FIRST_PAUSE
    while wanted := [item for item in wanted if not await _add(client, item)]:
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def build_configuration() -> KubeVirt:
    """The object that holds the configuration, with all of it at its defaults."""
    return KubeVirt(
        api_version="kubevirt.io/v1",
        kind="KubeVirt",
        metadata=ObjectMeta(name=CONFIGURATION, namespace=CONFIGURATION),
        spec=KubeVirtSpec(configuration=KubeVirtConfiguration()),
    )


async def _add(client: Client, item: Model) -> bool:
    """Add an object unless one of its name is there; whether there is one then."""
    metadata = metadata_of(item)
    try:
        await client.create(item)
    except StatusError as error:
        if error.reason == "AlreadyExists":
            return True
        _log.warning("%s %s cannot be added yet: %s", type(item).__name__, metadata.name, error)
        return False
    except UnreachableError as error:
        _log.warning("%s %s cannot be added yet: %s", type(item).__name__, metadata.name, error)
        return False
    return True

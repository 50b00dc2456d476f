"""The way from a command to the system of a data directory, with words for what is in the way."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from virtshape.cli.datadir import name_flag
from virtshape.cli.errors import Refusal

if TYPE_CHECKING:
    from virtshape.client.protocol import Client

T = TypeVar("T")


def ask_system(directory: Path, errand: Callable[["Client"], Awaitable[T]]) -> T:
    """Do something with a client of the system."""
    # Imported now, since reading help needs no server.
    from virtshape.apiserver.auth.pki import PkiError
    from virtshape.apiserver.auth.userregistry import UserRegistryError
    from virtshape.client.errors import ConfigError, UnreachableError
    from virtshape.standalone.location import UnknownSystemError
    from virtshape.store.errors import StoreError

    flag = name_flag(directory)
    try:
        return asyncio.run(_ask(directory, errand))
    except UnknownSystemError as error:
        raise Refusal(str(error), next_step=f"Start one first: virtshape up{flag}") from None
    except UnreachableError as error:
        raise Refusal(str(error), next_step=f"Look at it: virtshape status{flag}") from None
    except (ConfigError, StoreError, PkiError, UserRegistryError) as error:
        raise Refusal(str(error)) from None


async def _ask(directory: Path, errand: Callable[["Client"], Awaitable[T]]) -> T:
    from virtshape.standalone.localclient import open_client

    async with open_client(directory) as client:
        return await errand(client)

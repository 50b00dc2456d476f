"""Call the API server that uses a data directory, whether it is running or stopped."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from virtshape.cli.datadir import name_flag
from virtshape.cli.errors import CommandError

if TYPE_CHECKING:
    from virtshape.client.protocol import Client

T = TypeVar("T")


def run_with_client(directory: Path, work: Callable[["Client"], Awaitable[T]]) -> T:
    """Run `work` with a client for the server that uses a data directory, and return the result of `work`."""
    # Imported here to keep `--help` fast.
    from virtshape.apiserver.auth.pki import PkiError
    from virtshape.apiserver.auth.userregistry import UserRegistryError
    from virtshape.client.errors import ConfigError, UnreachableError
    from virtshape.standalone.serveraccess import UnknownSystemError
    from virtshape.store.errors import StoreError

    flag = name_flag(directory)
    try:
        return asyncio.run(_ask(directory, work))
    except UnknownSystemError as error:
        raise CommandError(str(error), next_step=f"Start a server first: virtshape up{flag}") from None
    except UnreachableError as error:
        raise CommandError(str(error), next_step=f"Check its status: virtshape status{flag}") from None
    except (ConfigError, StoreError, PkiError, UserRegistryError) as error:
        raise CommandError(str(error)) from None


async def _ask(directory: Path, work: Callable[["Client"], Awaitable[T]]) -> T:
    from virtshape.standalone.localclient import open_client

    async with open_client(directory) as client:
        return await work(client)

"""Wait for objects and VMs of one namespace."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.client.errors import UnreachableError
from virtshape.client.rest import RestClient

T = TypeVar("T", bound=Model)
R = TypeVar("R")

TIMEOUT_SECONDS: Final = 240.0
FIRST_PAUSE_SECONDS: Final = 0.01
MAX_PAUSE_SECONDS: Final = 0.1


async def eventually(probe: Callable[[], Awaitable[R | None]], otherwise: str) -> R:
    """Poll until `probe` returns a value other than None, and return it; poll again if the server does not respond."""
    deadline = asyncio.get_running_loop().time() + TIMEOUT_SECONDS
    pause = FIRST_PAUSE_SECONDS
    failure: UnreachableError | None = None
    while asyncio.get_running_loop().time() < deadline:
        try:
            found = await probe()
            if found is not None:
                return found
        except UnreachableError as error:
            failure = error
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, MAX_PAUSE_SECONDS)
    raise AssertionError(otherwise) from failure


class NamespaceObjects:
    """The objects of one namespace."""

    def __init__(self, client: RestClient, namespace: str = "default") -> None:
        self.client = client
        self.namespace = namespace

    async def find(self, kind: type[T], name: str = "vm1", namespace: str | None = None) -> T | None:
        """Return an object, or None if it does not exist."""
        try:
            return await self.client.get(kind, name, self.namespace if namespace is None else namespace)
        except StatusError as error:
            if error.code != 404:
                raise
            return None

    async def wait_for(self, status: str, name: str = "vm1") -> VirtualMachine:
        """Wait until the VM has this printable status, and return it."""

        async def probe() -> VirtualMachine | None:
            vm = await self.find(VirtualMachine, name)
            return vm if vm is not None and vm.status is not None and vm.status.printable_status == status else None

        return await eventually(probe, f"{name} is not {status}")

    async def wait_until_gone(self, kind: type[Model], name: str = "vm1") -> None:
        """Wait until the object is deleted."""

        async def probe() -> bool | None:
            return True if await self.find(kind, name) is None else None

        await eventually(probe, f"{kind.__name__} {name} is still there")

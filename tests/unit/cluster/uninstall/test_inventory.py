"""Finding the objects of an installation on a cluster."""

from typing import Any

import pytest

from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.cluster.uninstall.inventory import list_served


class RefusingClient:
    """A client whose requests all fail with the given error."""

    def __init__(self, code: int) -> None:
        self._error = StatusError(code, "", "404 page not found")

    async def list(self, kind: object) -> Any:
        del kind
        raise self._error


async def test_list_of_a_kind_without_a_crd_is_empty() -> None:
    client: Any = RefusingClient(404)
    assert await list_served(client, VirtualMachine) == ()


async def test_list_error_other_than_404_is_raised() -> None:
    client: Any = RefusingClient(403)
    with pytest.raises(StatusError):
        await list_served(client, VirtualMachine)

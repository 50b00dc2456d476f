"""Expanding a VM reads a limited number of objects in other namespaces."""

from collections.abc import Collection

import pytest

from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authorization import Attributes, Decision
from virtshape.apiserver.subresources.crossnamespace import MAX_READS, CrossNamespaceReadError, read_as_caller
from virtshape.resolve.reference import Reference


async def allow(_: Attributes) -> Decision:
    return Decision(allowed=True)


async def test_number_of_objects_in_other_namespaces_is_limited() -> None:
    async def decide(permitted: Collection[Reference]) -> None:
        raise CrossNamespaceReadError(Reference("", "PersistentVolumeClaim", "other", f"claim-{len(permitted)}"))

    with pytest.raises(StatusError, match=f"more than {MAX_READS} objects in other namespaces") as refusal:
        await read_as_caller(decide, allow)
    assert refusal.value.code == 400

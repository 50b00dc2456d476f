"""Writes that are committed together: each response is correct after the writes before it."""

import asyncio
from pathlib import Path

from tests.support.systems import open_system

from virtshape.api.core.config import ConfigMap
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError


async def test_update_of_an_object_that_is_deleted_at_the_same_time_is_not_found(tmp_path: Path) -> None:
    async with open_system("in-process", tmp_path) as system:
        tree = ConfigMap(api_version="v1", kind="ConfigMap", metadata=ObjectMeta(name="one", namespace="default"))
        made = await system.client.create(tree)
        made.data = {"a": "1"}
        _, refused = await asyncio.gather(
            system.client.delete(ConfigMap, "one", "default"), system.client.update(made), return_exceptions=True
        )
    assert isinstance(refused, StatusError)
    assert (refused.code, refused.reason) == (404, "NotFound")

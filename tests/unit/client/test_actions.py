from typing import Any, cast

import pytest

from virtshape.api.status import StatusError
from virtshape.client.actions import format_action, list_resources
from virtshape.client.rest import RestClient
from virtshape.client.transport import Call, Reply


def test_action_path_ends_with_the_subresource() -> None:
    assert format_action("team", "virtualmachines", "web", "start") == (
        "/apis/subresources.kubevirt.io/v1/namespaces/team/virtualmachines/web/start"
    )


def test_names_in_action_paths_are_quoted_and_arguments_become_query_parameters() -> None:
    target = format_action("a b", "virtualmachineinstances", "x/y", "vnc", {"preserveSession": "true"})
    assert target == (
        "/apis/subresources.kubevirt.io/v1/namespaces/a%20b/virtualmachineinstances/x%2Fy/vnc?preserveSession=true"
    )


class FakeTransport:
    """Returns the same response to all requests."""

    def __init__(self, status: int, body: bytes) -> None:
        self._reply = Reply(status, {}, body)

    async def call(self, call: Call) -> Reply:
        assert call.target == "/apis/subresources.kubevirt.io/v1"
        return self._reply


def connect(status: int, body: bytes) -> RestClient:
    return RestClient(cast("Any", FakeTransport(status, body)))


async def test_resources_of_the_subresource_api_are_listed_by_name() -> None:
    body = b'{"kind": "APIResourceList", "resources": [{"name": "version"}, {"name": "expand-vm-spec"}]}'
    assert await list_resources(connect(200, body)) == {"version", "expand-vm-spec"}


async def test_server_without_the_subresource_api_has_no_resources() -> None:
    assert await list_resources(connect(404, b"404 page not found")) == set()


async def test_unavailable_subresource_api_is_an_error() -> None:
    with pytest.raises(StatusError):
        await list_resources(connect(500, b"{}"))

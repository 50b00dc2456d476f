"""REST client: retries, warnings, paths and objects that cannot be decoded."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NoReturn

import pytest

from virtshape.api.codec import encode, to_tree
from virtshape.api.core.config import ConfigMap
from virtshape.api.instancetype import v1beta1
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ListMeta, ObjectMeta
from virtshape.api.rbac import ClusterRole
from virtshape.api.status import StatusError
from virtshape.client.resources import format_target, kind_of, metadata_of
from virtshape.client.rest import MAX_TRIES, RestClient, parse_warnings
from virtshape.client.transport import Call, Reply

ITEM = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}'
BUSY = encode(StatusError(429, "TooManyRequests", "later").status)


class ScriptedTransport:
    """A transport that returns the given replies in order."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.calls: list[Call] = []

    async def call(self, call: Call) -> Reply:
        self.calls.append(call)
        return self.replies.pop(0)

    def stream(self, call: Call, *, idle_timeout: float | None = None) -> NoReturn:
        raise AssertionError(f"unexpected stream {call} with {idle_timeout}")

    async def close(self) -> None:
        pass


class StreamingTransport:
    """A transport whose watches yield the given lines."""

    def __init__(self, *lines: bytes) -> None:
        self._lines = lines

    async def call(self, call: Call) -> Reply:
        raise AssertionError(f"unexpected request {call}")

    @asynccontextmanager
    async def stream(self, call: Call, *, idle_timeout: float | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        del call, idle_timeout
        yield self._read_lines()

    async def close(self) -> None:
        pass

    async def _read_lines(self) -> AsyncIterator[bytes]:
        for line in self._lines:
            yield line


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", wait)
    return waited


RETRIES: dict[str, tuple[list[tuple[int, str]], list[float], int]] = {
    "too many requests": ([(429, "1"), (429, "2"), (200, "")], [1, 2], 200),
    "overloaded server": ([(503, "5"), (200, "")], [5], 200),
    "long delay": ([(429, "100000"), (200, "")], [60], 200),
    "no Retry-After header": ([(429, "")], [], 429),
    "Retry-After with a date": ([(429, "Fri, 31 Dec 1999 23:59:59 GMT")], [], 429),
    "other error": ([(409, "1")], [], 409),
    "maximum of retries": ([(429, "1")] * MAX_TRIES, [1] * (MAX_TRIES - 1), 429),
}


@pytest.mark.parametrize(("answers", "waits", "code"), RETRIES.values(), ids=RETRIES.keys())
async def test_request_is_retried_after_the_requested_delay(
    pauses: list[float], answers: list[tuple[int, str]], waits: list[float], code: int
) -> None:
    replies = [
        Reply(
            status,
            {"retry-after": after} if after else {},
            ITEM if status == 200 else BUSY.replace(b"429", b"%d" % status),
        )
        for status, after in answers
    ]
    client = RestClient(ScriptedTransport(*replies))
    if code == 200:
        await client.get(ConfigMap, "a", "ns")
    else:
        with pytest.raises(StatusError) as caught:
            await client.get(ConfigMap, "a", "ns")
        assert caught.value.code == code
    assert pauses == waits


async def test_warnings_are_passed_to_the_handler() -> None:
    warnings: list[str] = []
    reply = Reply(200, {"warning": '299 - "one"\n299 - "say \\"two\\""'}, ITEM)
    await RestClient(ScriptedTransport(reply), warn=warnings.append).get(ConfigMap, "a", "ns")
    assert warnings == ["one", 'say "two"']


@pytest.mark.parametrize("header", ["", "nonsense", '199 - "something else"'])
def test_warning_headers_with_another_code_or_format_are_ignored(header: str) -> None:
    assert parse_warnings(header) == []


TARGETS: dict[str, tuple[Any, tuple[str, ...], str]] = {
    "core kind": (ConfigMap, ("ns", "a"), "/api/v1/namespaces/ns/configmaps/a"),
    "kind of a group": (
        VirtualMachine,
        ("ns", "a", "status"),
        "/apis/kubevirt.io/v1/namespaces/ns/virtualmachines/a/status",
    ),
    "everywhere": (VirtualMachine, (), "/apis/kubevirt.io/v1/virtualmachines"),
    "cluster-wide": (
        ClusterRole,
        ("ns", "system:a/b c"),
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:a%2Fb%20c",
    ),
    "newest version of a struct": (
        v1beta1.VirtualMachineInstancetype,
        ("ns",),
        "/apis/instancetype.kubevirt.io/v1beta1/namespaces/ns/virtualmachineinstancetypes",
    ),
}


@pytest.mark.parametrize(("struct", "where", "target"), TARGETS.values(), ids=TARGETS.keys())
def test_request_target_is_the_path_of_the_object(struct: Any, where: tuple[str, ...], target: str) -> None:
    namespace, name, subresource = [*where, "", "", ""][:3]
    assert format_target(kind_of(struct), namespace, name, subresource) == target


def test_query_parameters_are_escaped_and_empty_ones_omitted() -> None:
    target = format_target(kind_of(ConfigMap), query={"labelSelector": "a in (b,c)", "limit": "", "continue": "x="})
    assert target == "/api/v1/configmaps?labelSelector=a+in+%28b%2Cc%29&continue=x%3D"


@pytest.mark.parametrize("struct", [ObjectMeta, ListMeta])
def test_struct_that_is_not_a_kind_is_rejected(struct: Any) -> None:
    with pytest.raises(TypeError, match="is not a kind"):
        kind_of(struct)


def test_client_rejects_an_object_without_metadata() -> None:
    with pytest.raises(TypeError, match="has no metadata"):
        metadata_of(ConfigMap(api_version="v1", kind="ConfigMap"))


async def test_watch_continues_after_an_undecodable_object() -> None:
    broken = ITEM.replace(b'"name":"a"', b'"name":"a","resourceVersion":"7"').replace(b"}}", b'},"data":3}')
    lines = (b'{"type":"ADDED","object":%s}' % one for one in (broken, ITEM))

    async def watch() -> list[tuple[str, str]]:
        client = RestClient(StreamingTransport(*lines))
        return [(event.type, event.revision) async for event in client.watch(ConfigMap)]

    assert await watch() == [("BOOKMARK", "7"), ("ADDED", "")]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"MODIFIED","object":%b}',
        b'{"type":"MODIFIED","object":%b}\n',
        b'{"type": "MODIFIED", "object": %b }',
        b'{"object":%b,"type":"MODIFIED"}',
    ],
)
async def test_watch_reads_lines_in_any_json_format(line: bytes) -> None:
    client = RestClient(StreamingTransport(line % ITEM))
    events = [event async for event in client.watch(ConfigMap)]
    assert [(event.type, metadata_of(event.item).name) for event in events if event.item] == [("MODIFIED", "a")]


async def test_watch_of_owned_objects_decodes_only_their_ownership() -> None:
    owner = b'{"name":"o","apiVersion":"v1","kind":"ConfigMap","uid":"u2"}'
    metadata = b'"name":"a","uid":"u1","resourceVersion":"7","finalizers":["f"],"ownerReferences":[%b]' % owner
    item = b'{"kind":"ConfigMap","metadata":{%b,"labels":{"x":"y"}},"data":3}' % metadata
    client = RestClient(StreamingTransport(b'{"type":"ADDED","object":%b}' % item))
    (event,) = [event async for event in client.watch_owned(ConfigMap)]
    assert event.revision == "7"
    assert event.item is not None
    assert to_tree(event.item) == {
        "metadata": {
            "name": "a",
            "uid": "u1",
            "resourceVersion": "7",
            "ownerReferences": [{"name": "o", "apiVersion": "v1", "kind": "ConfigMap", "uid": "u2"}],
            "finalizers": ["f"],
        }
    }

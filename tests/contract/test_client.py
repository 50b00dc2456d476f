"""
Behaviour of every Client, with every server and transport.

Each test runs on each server and must not depend on the kind of server.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.contract.servers import ContractServer, Serve
from tests.support.build import build_vm

from virtshape.api.codec import from_tree
from virtshape.api.core.config import ConfigMap, Secret
from virtshape.api.core.namespace import Namespace
from virtshape.api.instancetype import v1beta1, v1beta2
from virtshape.api.kubevirt.virtualmachine import VirtualMachine, VirtualMachineStatus
from virtshape.api.rbac import ClusterRole
from virtshape.api.status import StatusError
from virtshape.client.errors import GoneError
from virtshape.client.protocol import Client, Listing, PatchType, WatchEvent

Attempt = Callable[[Client], Awaitable[object]]
NS = "default"


def build_map(name: str, labels: dict[str, str] | None = None, **data: str) -> ConfigMap:
    metadata = {"name": name, "namespace": NS, "labels": labels}
    return from_tree({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}, ConfigMap)


@asynccontextmanager
async def open_client(serve: Serve, directory: Path) -> AsyncIterator[Client]:
    async with serve(directory) as served:
        yield served.client


def names(listing: Listing[Any]) -> list[str]:
    return [item.metadata.name for item in listing.items]


def meta(item: Any) -> Any:
    assert item is not None
    return item.metadata


async def refusal(attempt: Awaitable[object]) -> StatusError:
    with pytest.raises(StatusError) as caught:
        await attempt
    return caught.value


async def take(events: AsyncIterator[WatchEvent[Any]], count: int) -> list[WatchEvent[Any]]:
    taken: list[WatchEvent[Any]] = []
    async with asyncio.timeout(240):
        while len(taken) < count:
            taken.append(await anext(events))
    return taken


def reported(events: list[WatchEvent[Any]]) -> list[tuple[str, str]]:
    return [(event.type, event.item.metadata.name if event.item is not None else "") for event in events]


async def test_created_object_can_be_read(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        made = await client.create(build_map("a", x="1"))
        assert meta(made).uid
        assert meta(made).resource_version
        assert made.data == {"x": "1"}
        assert await client.get(ConfigMap, "a", NS) == made


async def test_cluster_scoped_object_needs_no_namespace(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        assert meta(await client.get(Namespace, NS)).name == NS
        assert meta(await client.get(ClusterRole, "kubevirt.io:view")).name == "kubevirt.io:view"


async def test_create_returns_the_generated_name(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        item = build_map("x")
        made = await client.create(replace(item, metadata=replace(meta(item), name=None, generate_name="some-")))
        assert (meta(made).name or "").startswith("some-")


async def test_dry_run_of_create_update_and_delete_changes_nothing(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        assert meta(await client.create(build_map("a"), dry_run=True)).uid
        assert (await refusal(client.get(ConfigMap, "a", NS))).reason == "NotFound"
        made = await client.create(build_map("a", x="1"))
        assert (await client.update(replace(made, data={"x": "2"}), dry_run=True)).data == {"x": "2"}
        assert await client.delete(ConfigMap, "a", NS, dry_run=True) is None
        assert await client.get(ConfigMap, "a", NS) == made


REFUSALS: dict[str, tuple[Attempt, int, str]] = {
    "missing object": (lambda client: client.get(ConfigMap, "nope", NS), 404, "NotFound"),
    "existing object": (lambda client: client.create(build_map("a")), 409, "AlreadyExists"),
    "missing namespace": (lambda client: client.create(_elsewhere("nowhere")), 404, "NotFound"),
    "update of a missing object": (lambda client: client.update(build_map("nope")), 404, "NotFound"),
    "patch of a missing object": (lambda client: client.patch(ConfigMap, "nope", NS, patch={}), 404, "NotFound"),
    "delete of a missing object": (lambda client: client.delete(ConfigMap, "nope", NS), 404, "NotFound"),
    "invalid selector": (lambda client: client.list(ConfigMap, NS, labels="a in"), 400, "BadRequest"),
    "invalid name": (lambda client: client.create(build_map("No Good")), 422, "Invalid"),
}


def _elsewhere(namespace: str) -> ConfigMap:
    item = build_map("x")
    return replace(item, metadata=replace(meta(item), namespace=namespace))


@pytest.mark.parametrize(("attempt", "code", "reason"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_rejected_request_raises_an_error_with_its_reason(
    serve: Serve, tmp_path: Path, attempt: Attempt, code: int, reason: str
) -> None:
    async with open_client(serve, tmp_path) as client:
        await client.create(build_map("a"))
        error = await refusal(attempt(client))
        assert (error.code, error.reason) == (code, reason)


async def test_client_error_contains_the_object_and_every_cause(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        missing = await refusal(client.get(ConfigMap, "nope", NS))
        assert (missing.details.kind, missing.details.name) == ("configmaps", "nope")
        assert missing.message == 'configmaps "nope" not found'
        invalid = await refusal(client.create(build_map("a", {"l" * 64: "ok", "b": "not ok"})))
        assert {cause.field for cause in invalid.causes} == {"metadata.labels"}
        assert len(invalid.causes) == 2
        assert {cause.reason for cause in invalid.causes} == {"FieldValueInvalid"}


async def test_update_replaces_the_object(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        made = await client.create(build_map("a", x="1", y="1"))
        updated = await client.update(replace(made, data={"x": "2"}))
        assert updated.data == {"x": "2"}
        assert meta(updated).resource_version != meta(made).resource_version
        assert meta(updated).uid == meta(made).uid


async def test_update_of_a_stale_version_conflicts(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        made = await client.create(build_map("a", x="1"))
        await client.update(replace(made, data={"x": "2"}))
        error = await refusal(client.update(replace(made, data={"x": "3"})))
        assert (error.code, error.reason) == (409, "Conflict")
        assert (await client.get(ConfigMap, "a", NS)).data == {"x": "2"}


async def test_update_without_changes_does_not_change_the_resource_version(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        made = await client.create(build_map("a", x="1"))
        assert await client.update(made) == made


async def test_status_is_written_separately_from_the_spec(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        made = await client.create(build_vm(namespace=NS, memory="1Gi"))
        changed = replace(
            made,
            spec=replace(made.spec, run_strategy="Halted"),
            status=VirtualMachineStatus(printable_status="Stopped"),
        )
        stated = await client.update_status(changed)
        assert (stated.spec.run_strategy, meta(stated).generation) == ("Always", 1)
        assert stated.status == VirtualMachineStatus(printable_status="Stopped")
        stopped = await client.update(replace(stated, spec=changed.spec, status=None))
        assert (stopped.spec.run_strategy, meta(stopped).generation) == ("Halted", 2)
        assert stopped.status == stated.status


PATCHES: dict[PatchType, Any] = {
    "merge": {"data": {"x": "2", "y": None}},
    "strategic": {"data": {"x": "2", "y": None}},
    "json": [{"op": "replace", "path": "/data/x", "value": "2"}, {"op": "remove", "path": "/data/y"}],
}


@pytest.mark.parametrize(("how", "patch"), PATCHES.items(), ids=PATCHES.keys())
async def test_patch_changes_part_of_the_object(serve: Serve, tmp_path: Path, how: PatchType, patch: Any) -> None:
    async with open_client(serve, tmp_path) as client:
        await client.create(build_map("a", x="1", y="1", z="1"))
        patched = await client.patch(ConfigMap, "a", NS, patch=patch, how=how)
        assert patched.data == {"x": "2", "z": "1"}


async def test_patch_with_a_stale_version_is_rejected(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        made = await client.create(build_map("a", x="1"))
        await client.patch(ConfigMap, "a", NS, patch={"data": {"x": "2"}})
        stale = {"metadata": {"resourceVersion": meta(made).resource_version}, "data": {"x": "3"}}
        assert (await refusal(client.patch(ConfigMap, "a", NS, patch=stale))).reason == "Conflict"


async def test_status_can_be_patched(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        await client.create(build_vm(name="vm1", namespace=NS, memory="1Gi"))
        patch = {"status": {"printableStatus": "Running"}, "spec": {"runStrategy": "Halted"}}
        vm = await client.patch(VirtualMachine, "vm1", NS, patch=patch, subresource="status")
        assert vm.status == VirtualMachineStatus(printable_status="Running")
        assert vm.spec.run_strategy == "Always"


async def test_apply_creates_the_object_and_changes_or_removes_its_fields(serve: Serve, tmp_path: Path) -> None:
    async def apply(client: Client, **data: str) -> ConfigMap:
        return await client.patch(ConfigMap, "a", NS, patch=build_map("a", None, **data), how="apply", manager="me")

    async with open_client(serve, tmp_path) as client:
        made = await apply(client, x="1", y="1")
        assert made.data == {"x": "1", "y": "1"}
        assert await apply(client, x="1", y="1") == made
        assert (await apply(client, x="2")).data == {"x": "2"}


async def test_apply_conflicts_with_another_manager_unless_forced(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        await client.patch(ConfigMap, "a", NS, patch=build_map("a", x="1"), how="apply", manager="me")
        theirs = build_map("a", x="2")
        error = await refusal(client.patch(ConfigMap, "a", NS, patch=theirs, how="apply", manager="them"))
        assert (error.code, error.reason) == (409, "Conflict")
        assert [(cause.reason, cause.field) for cause in error.causes] == [("FieldManagerConflict", ".data.x")]
        forced = await client.patch(ConfigMap, "a", NS, patch=theirs, how="apply", manager="them", force=True)
        assert forced.data == {"x": "2"}


async def test_field_manager_of_the_client_owns_the_fields_it_writes(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        made = await client.create(build_map("a", x="1"))
        assert [entry.manager for entry in meta(made).managed_fields] == ["tester"]


SELECTORS: dict[str, tuple[dict[str, str], list[str]]] = {
    "none": ({}, ["a", "b", "c"]),
    "label": ({"labels": "color=red"}, ["a", "b"]),
    "labels": ({"labels": "color in (red,blue),size!=big"}, ["a", "c"]),
    "name": ({"fields": "metadata.name=b"}, ["b"]),
    "both": ({"labels": "color=red", "fields": "metadata.name!=a"}, ["b"]),
    "nothing": ({"labels": "color=green"}, []),
}


@pytest.mark.parametrize(("selectors", "found"), SELECTORS.values(), ids=SELECTORS.keys())
async def test_selectors_filter_lists(
    serve: Serve, tmp_path: Path, selectors: dict[str, str], found: list[str]
) -> None:
    async with open_client(serve, tmp_path) as client:
        await client.create(build_map("a", {"color": "red"}))
        await client.create(build_map("b", {"color": "red", "size": "big"}))
        last = await client.create(build_map("c", {"color": "blue"}))
        labels, fields = selectors.get("labels", ""), selectors.get("fields", "")
        listing = await client.list(ConfigMap, NS, labels=labels, fields=fields)
        assert names(listing) == found
        assert int(listing.revision) >= int(meta(last).resource_version)


async def test_list_covers_one_namespace_or_all(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        await client.create(build_map("a"))
        await client.create(_elsewhere("kube-public"))
        assert names(await client.list(ConfigMap, NS)) == ["a"]
        everywhere = names(await client.list(ConfigMap, labels=""))
        assert [name for name in everywhere if name in ("a", "x")] == ["a", "x"]


async def test_pages_of_a_list_are_a_consistent_snapshot(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        for name in "abcde":
            await client.create(build_map(name))
        first = await client.list(ConfigMap, NS, limit=2)
        assert (names(first), first.remaining) == (["a", "b"], 3)
        await client.delete(ConfigMap, "d", NS)
        await client.create(build_map("cc"))
        second = await client.list(ConfigMap, NS, limit=2, continuation=first.continuation)
        third = await client.list(ConfigMap, NS, limit=2, continuation=second.continuation)
        assert (names(second), names(third)) == (["c", "d"], ["e"])
        assert first.revision == second.revision == third.revision
        assert third.continuation == ""
        past = await client.list(ConfigMap, NS, revision=first.revision, match="Exact")
        assert names(past) == ["a", "b", "c", "d", "e"]


async def test_watch_reports_every_change_after_a_resource_version(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        made = await client.create(build_map("a", x="1"))
        start = (await client.list(ConfigMap, NS)).revision
        changed = await client.update(replace(made, data={"x": "2"}))
        async with aclosing(client.watch(ConfigMap, NS, revision=start)) as events:
            await client.create(build_map("b"))
            await client.delete(ConfigMap, "a", NS)
            seen = await take(events, 3)
        assert reported(seen) == [("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")]
        assert seen[0].item == changed
        assert seen[0].revision == meta(changed).resource_version
        assert int(seen[0].revision) < int(seen[1].revision) < int(seen[2].revision)


async def test_watch_with_a_selector_reports_objects_that_start_or_stop_matching(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        made = await client.create(build_map("a"))
        start = meta(made).resource_version
        async with aclosing(client.watch(ConfigMap, NS, revision=start, labels="color=red")) as events:
            await client.patch(ConfigMap, "a", NS, patch={"data": {"x": "1"}})
            await client.patch(ConfigMap, "a", NS, patch={"metadata": {"labels": {"color": "red"}}})
            await client.patch(ConfigMap, "a", NS, patch={"metadata": {"labels": {"color": "blue"}}})
            seen = await take(events, 2)
        assert reported(seen) == [("ADDED", "a"), ("DELETED", "a")]


async def test_watch_can_start_with_existing_objects(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        await client.create(build_map("a"))
        await client.create(build_map("b"))
        async with aclosing(client.watch(ConfigMap, NS, initial=True)) as events:
            seen = await take(events, 3)
            assert reported(seen) == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", "")]
            assert seen[2].is_initial_end
            await client.create(build_map("c"))
            assert reported(await take(events, 1)) == [("ADDED", "c")]


async def test_watch_sends_a_bookmark_before_it_times_out(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        start = (await client.list(ConfigMap, NS)).revision
        async with aclosing(client.watch(ConfigMap, NS, revision=start, timeout=10)) as events:
            other = await client.create(
                from_tree({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": NS}}, Secret)
            )
            seen = [event async for event in events]
        assert set(reported(seen)) == {("BOOKMARK", "")}
        assert int(seen[-1].revision) >= int(meta(other).resource_version)


async def test_rejected_watch_raises_before_the_first_event(serve: Serve, tmp_path: Path) -> None:
    async with (
        open_client(serve, tmp_path) as client,
        aclosing(client.watch(ConfigMap, NS, labels="a in")) as events,
    ):
        assert (await refusal(anext(events))).code == 400


async def test_watch_or_list_of_compacted_history_returns_410(serve: Serve, tmp_path: Path) -> None:
    async with serve(tmp_path) as served:
        await _compact(served)
        async with aclosing(served.client.watch(ConfigMap, NS, revision="1")) as events:
            with pytest.raises(GoneError) as caught:
                await anext(events)
        assert (caught.value.code, caught.value.reason) == (410, "Expired")
        with pytest.raises(GoneError):
            await served.client.list(ConfigMap, NS, revision="1", match="Exact")


async def test_expired_continue_token_returns_a_new_token(serve: Serve, tmp_path: Path) -> None:
    async with serve(tmp_path) as served:
        for name in "abc":
            await served.client.create(build_map(name))
        first = await served.client.list(ConfigMap, NS, limit=1)
        await _compact(served)
        with pytest.raises(GoneError) as caught:
            await served.client.list(ConfigMap, NS, limit=1, continuation=first.continuation)
        rest = await served.client.list(ConfigMap, NS, continuation=caught.value.continuation or "")
        assert names(rest)[:2] == ["b", "c"]


async def _compact(served: ContractServer) -> None:
    for number in range(3):
        await served.client.create(build_map(f"forget-{number}"))
    await served.compact()


async def test_delete_honors_preconditions(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        made = await client.create(build_map("a"))
        uid, revision = meta(made).uid, meta(made).resource_version
        other = "6a1ca1f1-0000-4000-8000-000000000000"
        assert (await refusal(client.delete(ConfigMap, "a", NS, uid=other))).reason == "Conflict"
        assert (await refusal(client.delete(ConfigMap, "a", NS, revision="1"))).reason == "Conflict"
        assert await client.delete(ConfigMap, "a", NS, uid=uid, revision=revision) is None
        assert (await refusal(client.get(ConfigMap, "a", NS))).code == 404


async def test_deleted_object_remains_until_its_finalizers_are_removed(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        item = build_map("a")
        await client.create(replace(item, metadata=replace(meta(item), finalizers=["example.com/wait"])))
        left = await client.delete(ConfigMap, "a", NS, propagation="Background")
        assert meta(left).deletion_timestamp
        await client.patch(ConfigMap, "a", NS, patch={"metadata": {"finalizers": None}})
        assert (await refusal(client.get(ConfigMap, "a", NS))).code == 404


async def test_object_can_be_read_and_written_at_two_api_versions(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        tree = {
            "apiVersion": "instancetype.kubevirt.io/v1beta1",
            "kind": "VirtualMachineInstancetype",
            "metadata": {"name": "small", "namespace": NS},
            "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}},
        }
        old = await client.create(from_tree(tree, v1beta1.VirtualMachineInstancetype))
        new = await client.get(v1beta2.VirtualMachineInstancetype, "small", NS)
        assert (old.api_version, new.api_version) == tuple(f"instancetype.kubevirt.io/v1beta{n}" for n in (1, 2))
        assert meta(new).uid == meta(old).uid
        await client.patch(v1beta2.VirtualMachineInstancetype, "small", NS, patch={"spec": {"cpu": {"guest": 2}}})
        assert (await client.get(v1beta1.VirtualMachineInstancetype, "small", NS)).spec.cpu.guest == 2


async def test_each_concurrent_request_receives_its_own_response(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        made = await asyncio.gather(*(client.create(build_map(f"m{number}")) for number in range(100)))
        assert len({meta(item).resource_version for item in made}) == 100
        found = await asyncio.gather(*(client.get(ConfigMap, f"m{number}", NS) for number in range(100)))
        assert [meta(item).name for item in found] == [f"m{number}" for number in range(100)]


async def test_closing_a_watch_early_does_not_affect_other_requests(serve: Serve, tmp_path: Path) -> None:
    async with open_client(serve, tmp_path) as client:
        for number in range(20):
            async with aclosing(client.watch(ConfigMap, NS, initial=True)) as events:
                await take(events, 1)
            await client.create(build_map(f"m{number}"))
        assert len((await client.list(ConfigMap, NS)).items) == 20

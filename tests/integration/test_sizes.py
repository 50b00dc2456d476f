"""Size limits of objects for every kind of write, and of expanded YAML aliases."""

import asyncio
import json
import time

import pytest
from tests.integration.objects import NamespacePaths, build_config, build_vm, create, revision
from tests.support.loopback import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    TIMEOUT,
    Client,
    LoopbackServer,
    Response,
)

from virtshape.apiserver.limits import MAX_OBJECT_BYTES
from virtshape.apiserver.objectmetadata import make_write
from virtshape.apiserver.validation.configdata import MAX_DATA_BYTES
from virtshape.store.record import Key

KIB = 1024
YAML = "application/yaml"
TOO_LARGE = (413, "RequestEntityTooLarge")


def send_yaml(client: Client, path: str, text: str) -> Response:
    return client.send("POST", path, text.encode(), headers={"Content-Type": YAML})


def with_size(size: int) -> dict[str, object]:
    """Return a patch that adds an annotation of `size` bytes to a VM's template."""
    return {"spec": {"template": {"metadata": {"annotations": {"a": "x" * size}}}}}


@pytest.mark.parametrize("query", [{}, {"dryRun": "All"}], ids=["stored", "dry run"])
def test_object_larger_than_the_size_limit_cannot_be_created(
    client: Client, paths: NamespacePaths, query: dict[str, str]
) -> None:
    vm = build_vm()
    vm["spec"]["template"] |= with_size(MAX_OBJECT_BYTES)["spec"]["template"]  # type: ignore[index]
    refused = client.post(paths.vms(), vm, **query)
    assert refused.reason == TOO_LARGE
    message = refused.tree["message"]
    assert message.startswith(
        'Request entity too large: etcdserver: request is too large: virtualmachines.kubevirt.io "vm1" has 15'
    )
    assert message.endswith(f" bytes, limit is {MAX_OBJECT_BYTES}")
    assert client.get(paths.vms("vm1")).status == 404
    vm["spec"]["template"] |= with_size(MAX_OBJECT_BYTES - 10 * KIB)["spec"]["template"]  # type: ignore[index]
    assert client.post(paths.vms(), vm, **query).status == 201


@pytest.mark.parametrize("media", [MERGE_PATCH, JSON_PATCH, APPLY_PATCH, "update"])
def test_no_write_grows_an_object_beyond_the_size_limit(client: Client, paths: NamespacePaths, media: str) -> None:
    (made,) = create(client, paths.vms(), build_vm())
    path, grown = paths.vms("vm1"), with_size(MAX_OBJECT_BYTES)
    match media:
        case "update":
            made["spec"]["template"] |= grown["spec"]["template"]  # type: ignore[index]
            reply = client.put(path, made)
        case "application/json-patch+json":
            operation = {
                "op": "add",
                "path": "/spec/template/metadata",
                "value": {"annotations": {"a": "x" * MAX_OBJECT_BYTES}},
            }
            reply = client.patch(path, [operation], media)
        case "application/apply-patch+yaml":
            head = {name: made[name] for name in ("apiVersion", "kind")}
            reply = client.apply(path, {**head, "metadata": {"name": "vm1"}, **grown})
        case _:
            reply = client.patch(path, grown, media)
    assert reply.reason == TOO_LARGE
    assert revision(client.get(path).tree) == revision(made)


def test_status_is_subject_to_the_size_limit(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.vms(), build_vm())
    conditions = [{"type": "Ready", "status": "True", "message": "x" * MAX_OBJECT_BYTES}]
    reply = client.patch(paths.vms("vm1/status"), {"status": {"conditions": conditions}})
    assert reply.reason == TOO_LARGE


def test_repeated_small_patches_cannot_exceed_the_size_limit(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.vms(), build_vm())
    codes = []
    for number in range(8):
        patch = {"spec": {"template": {"metadata": {"annotations": {f"a{number}": "x" * 300 * KIB}}}}}
        codes.append(client.patch(paths.vms("vm1"), patch).status)
    assert codes == [200] * 5 + [413] * 3


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
@pytest.mark.parametrize("media", [MERGE_PATCH, STRATEGIC_PATCH])
def test_data_of_config_maps_and_secrets_is_limited_to_1_mib(
    client: Client, paths: NamespacePaths, kind: str, media: str
) -> None:
    path, field = paths.core(f"{kind.lower()}s"), "data" if kind == "ConfigMap" else "stringData"
    tree = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}}
    refused = client.post(path, {**tree, field: {"a": "x" * MAX_DATA_BYTES, "b": "x"}})
    where = "[]" if kind == "ConfigMap" else "data"
    message = f'{kind} "x" is invalid: {where}: Too long: may not be more than {MAX_DATA_BYTES} bytes'
    assert (refused.reason, refused.tree["message"]) == ((422, "Invalid"), message)
    assert client.post(path, {**tree, field: {"a": "x" * MAX_DATA_BYTES}}).status == 201
    assert client.patch(f"{path}/x", {field: {"b": "x"}}, media).reason == (422, "Invalid")


def test_annotations_are_limited_to_256_kib_in_every_write(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.core("configmaps"), build_config(annotations={"a": "x" * (256 * KIB - 1)}))
    patch = {"metadata": {"annotations": {"b": ""}}}
    refused = client.patch(paths.core("configmaps", "settings"), patch)
    assert refused.reason == (422, "Invalid")
    assert "metadata.annotations: Too long: may not be more than 262144 bytes" in refused.tree["message"]
    made["metadata"]["annotations"]["b"] = ""
    assert client.put(paths.core("configmaps", "settings"), made).reason == (422, "Invalid")


def test_oversized_stored_object_may_shrink_or_be_deleted_but_not_grow(
    server: LoopbackServer, client: Client, paths: NamespacePaths
) -> None:
    (made,) = create(client, paths.vms(), build_vm(finalizers=["example.com/wait"]))
    made["spec"]["template"] |= with_size(2 * MAX_OBJECT_BYTES)["spec"]["template"]  # type: ignore[index]
    key = Key("virtualmachines.kubevirt.io", paths.namespace, "vm1")
    write = make_write(key, int(revision(made)), made, largest=None)
    loop = server._loop  # noqa: SLF001 - what the API refuses is written to the store itself
    asyncio.run_coroutine_threadsafe(server.system.store.write(write), loop).result(TIMEOUT)
    path = paths.vms("vm1")
    assert client.patch(path, {"metadata": {"labels": {"a": "b"}}}).reason == TOO_LARGE
    assert client.delete(path).status == 200
    assert client.patch(path, {"metadata": {"finalizers": None}}).status == 200
    assert client.get(path).status == 404


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: &x {}\nb: [{}]".format("y" * 70_000, "*x," * 2000), id="values"),
        pytest.param("a: &x {}\nb:\n{}".format("y" * 70_000, "- {*x : 1}\n" * 1000), id="keys"),
        pytest.param("a: &x {{k: {}}}\nb:\n{}".format("y" * 70_000, "- {<<: *x}\n" * 1000), id="merges"),
        pytest.param("a: &x [{}]\nb: [{}]".format("y," * 30_000, "*x," * 1000), id="lists"),
    ],
)
def test_yaml_aliases_cannot_expand_a_small_body(client: Client, paths: NamespacePaths, text: str) -> None:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {}\n"
    began = time.process_time()
    reply = send_yaml(client, paths.core("configmaps"), head + text)
    assert reply.reason == (400, "BadRequest")
    assert "the aliases of this document expand to more than " in reply.tree["message"]
    assert time.process_time() - began < 5


def test_yaml_aliases_of_ordinary_size_are_resolved(client: Client, paths: NamespacePaths) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: &x hello, b: *x, c: *x}\n"
    assert send_yaml(client, paths.core("configmaps"), text).tree["data"] == dict.fromkeys("abc", "hello")


def test_duplicate_key_among_many_is_found_quickly(client: Client, paths: NamespacePaths) -> None:
    members = ",".join(f'"k{number}": ""' for number in range(100_000))
    text = f'{{"apiVersion": "v1", "kind": "ConfigMap", "data": {{{members}, "k99999": ""}}}}'
    began = time.process_time()
    reply = send_yaml(client, paths.core("configmaps"), text)
    assert (reply.reason, "k99999" in reply.tree["message"]) == ((400, "BadRequest"), True)
    assert time.process_time() - began < 10


def test_store_limits_the_bytes_of_history(
    server: LoopbackServer, client: Client, paths: NamespacePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = server.system.store
    monkeypatch.setattr(store._history, "_limit", 4 * KIB * KIB)  # noqa: SLF001
    create(client, paths.core("configmaps"), build_config())
    path = paths.core("configmaps", "settings")
    for number in range(20):
        assert client.patch(path, {"data": {"a": f"{number}" + "x" * 900 * KIB}}).status == 200
    asyncio.run_coroutine_threadsafe(store.compact(), server._loop).result(TIMEOUT)  # noqa: SLF001
    oldest = store.oldest
    rows = asyncio.run_coroutine_threadsafe(_measure(store), server._loop).result(TIMEOUT)  # noqa: SLF001
    assert oldest > 0
    assert rows < 8 * KIB * KIB
    assert json.loads(client.get(path).body)["data"]["a"].startswith("19x")


async def _measure(store: object) -> int:
    from virtshape.store.database import measure_history

    return measure_history(store._reader)  # type: ignore[attr-defined]  # noqa: SLF001

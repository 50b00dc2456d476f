"""Served versions: the same object at each version in reads, writes, lists and watches."""

import pytest
from tests.integration.objects import GROUP, NamespacePaths, build_instancetype, build_vm, create, names, revision
from tests.support.loopback import Client

from virtshape.api.model import JsonObject

VERSIONS = ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2")
DEPRECATED = ("v1alpha1", "v1alpha2")


def at(tree: JsonObject, version: str) -> JsonObject:
    """Return the object at another version, with unchanged managedFields."""
    return {**tree, "apiVersion": f"{GROUP}/{version}"}


@pytest.mark.parametrize("version", VERSIONS)
def test_object_is_equal_at_every_version(client: Client, paths: NamespacePaths, version: str) -> None:
    (made,) = create(client, paths.instancetypes(), build_instancetype("one"))
    assert client.get(paths.instancetypes("one", version)).tree == at(made, version)
    listing = client.get(paths.instancetypes(version=version)).tree
    assert (listing["apiVersion"], listing["items"]) == (f"{GROUP}/{version}", [at(made, version)])


@pytest.mark.parametrize("version", VERSIONS)
def test_object_can_be_created_changed_and_deleted_at_every_version(
    client: Client, paths: NamespacePaths, version: str
) -> None:
    path = paths.instancetypes("one", version)
    (made,) = create(client, paths.instancetypes(version=version), build_instancetype("one", version=version))
    assert made["apiVersion"] == f"{GROUP}/{version}"
    updated = client.put(path, {**made, "spec": {**made["spec"], "cpu": {"guest": 2}}}).tree
    patched = client.patch(path, {"metadata": {"labels": {"a": "b"}}}).tree
    applied = client.apply(path, build_instancetype("one", guest=2, version=version, annotations={"c": "d"})).tree
    assert {tree["apiVersion"] for tree in (updated, patched, applied)} == {f"{GROUP}/{version}"}
    assert {entry["apiVersion"] for entry in applied["metadata"]["managedFields"]} == {f"{GROUP}/{version}"}
    assert client.get(paths.instancetypes("one", "v1beta2")).tree == at(applied, "v1beta2")
    assert client.delete(path).status == 200


def test_watch_sends_changes_at_the_requested_version(client: Client, paths: NamespacePaths) -> None:
    since = revision(client.get(paths.instancetypes()).tree)
    old = client.watch(paths.instancetypes(version="v1alpha1"), resourceVersion=since)
    new = client.watch(paths.instancetypes(version="v1beta2"), resourceVersion=since, labelSelector="a=b")
    with old, new:
        create(client, paths.instancetypes(), build_instancetype("one", labels={"a": "b"}))
        client.patch(paths.instancetypes("one"), {"metadata": {"labels": {"a": "c"}}})
        client.delete(paths.instancetypes("one"))
        seen = [(event["type"], event["object"]["apiVersion"]) for event in [*old.read(3), *new.read(2)]]
    older, newer = f"{GROUP}/v1alpha1", f"{GROUP}/v1beta2"
    assert seen[:3] == [("ADDED", older), ("MODIFIED", older), ("DELETED", older)]
    assert seen[3:] == [("ADDED", newer), ("DELETED", newer)]


def test_object_without_a_size_is_served_at_older_versions(client: Client, paths: NamespacePaths) -> None:
    body = build_instancetype("one", guest=None, memory=None, version="v1beta2")
    (made,) = create(client, paths.instancetypes(version="v1beta2"), body)
    for version in VERSIONS:
        assert client.get(paths.instancetypes("one", version)).tree == at(made, version)
    assert names(client.get(paths.instancetypes()).tree) == ["one"]
    with client.watch(paths.instancetypes(), resourceVersion="0") as watch:
        assert watch.read(1)[0]["object"] == at(made, "v1beta1")


@pytest.mark.parametrize(
    ("sizes", "field"),
    [
        pytest.param({"guest": None}, "spec.cpu.guest", id="no vCPUs"),
        pytest.param({"memory": None}, "spec.memory.guest", id="no memory"),
    ],
)
def test_write_at_an_older_version_without_a_size_returns_422_with_the_path(
    client: Client, paths: NamespacePaths, sizes: JsonObject, field: str
) -> None:
    refused = client.post(paths.instancetypes(), build_instancetype("one", **sizes))
    assert refused.reason == (422, "Invalid")
    assert [cause["field"] for cause in refused.tree["details"]["causes"]] == [field]
    body = build_instancetype("one", version="v1beta2", **sizes)
    create(client, paths.instancetypes(version="v1beta2"), body)
    patch = {"spec": {"ioThreadsPolicy": "auto"}}
    assert client.patch(paths.instancetypes("one"), patch).reason == (422, "Invalid")
    assert client.patch(paths.instancetypes("one", "v1beta2"), patch).status == 200


def test_size_of_0_is_accepted_only_before_v1beta2_and_lets_the_vm_set_its_size(
    client: Client, paths: NamespacePaths
) -> None:
    body = build_instancetype("open", guest=0, memory="0")
    made = client.post(paths.instancetypes(), body)
    assert made.status == 201
    assert made.tree["spec"] == body["spec"]
    assert [warning.partition(":")[0] for warning in made.warnings] == ["spec.cpu.guest", "spec.memory.guest"]
    at_v1beta2 = {**body, "apiVersion": f"{GROUP}/v1beta2", "metadata": {"name": "strict"}}
    refused = client.post(paths.instancetypes(version="v1beta2"), at_v1beta2)
    causes = refused.tree["details"]["causes"]
    assert [cause["field"] for cause in causes] == ["spec.cpu.guest", "spec.memory.guest"]
    vm = build_vm()
    vm["spec"]["instancetype"] = {"name": "open", "kind": "VirtualMachineInstancetype"}
    vm["spec"]["template"]["spec"]["domain"] |= {"memory": {"guest": "1Gi"}, "cpu": {"guest": 2}}
    assert client.post(paths.vms(), vm).status == 201


def test_continue_token_works_at_another_version(client: Client, paths: NamespacePaths) -> None:
    create(client, paths.instancetypes(), build_instancetype("one"), build_instancetype("two"))
    first = client.get(paths.instancetypes(), limit=1).tree
    token = first["metadata"]["continue"]
    rest = client.get(paths.instancetypes(version="v1alpha2"), limit=1, **{"continue": token}).tree
    assert (names(rest), rest["items"][0]["apiVersion"]) == (["two"], f"{GROUP}/v1alpha2")


@pytest.mark.parametrize("version", DEPRECATED)
def test_older_versions_send_a_deprecation_warning(client: Client, paths: NamespacePaths, version: str) -> None:
    kind = "VirtualMachineInstancetype"
    warnings = [f"{GROUP}/{version} {kind} is deprecated; use {GROUP}/v1beta2 {kind}"]
    path = paths.instancetypes("one", version)
    replies = [
        client.post(paths.instancetypes(version=version), build_instancetype("one", version=version)),
        client.get(path),
        client.get(paths.instancetypes(version=version)),
        client.patch(path, {"spec": {"cpu": {"guest": 2}}}),
        client.delete(path),
    ]
    assert [reply.warnings for reply in replies] == [warnings] * 5
    with client.watch(paths.instancetypes(version=version), seconds=1) as watch:
        assert watch.response.headers["warning"] == f'299 - "{warnings[0]}"'


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_newer_versions_send_no_warning(client: Client, paths: NamespacePaths, version: str) -> None:
    assert client.get(paths.instancetypes(version=version)).warnings == []


def test_vms_are_served_at_an_older_version(client: Client, paths: NamespacePaths) -> None:
    (made,) = create(client, paths.vms(version="v1alpha3"), build_vm(version="v1alpha3"))
    reply = client.get(paths.vms("vm1"))
    assert (reply.tree, reply.warnings) == ({**made, "apiVersion": "kubevirt.io/v1"}, [])
    status = client.patch(f"{paths.vms('vm1', 'v1alpha3')}/status", {"status": {"ready": True}})
    assert status.tree["apiVersion"] == "kubevirt.io/v1alpha3"
    assert status.warnings == ["kubevirt.io/v1alpha3 VirtualMachine is deprecated; use kubevirt.io/v1 VirtualMachine"]

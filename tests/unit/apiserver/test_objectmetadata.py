"""Server-set metadata, fields that a write may change, and the encoded result."""

import uuid

from virtshape.api.kinds import find_kind
from virtshape.apiserver.objectmetadata import assemble, encode_tree, initialize_object, make_uid, make_write, replace
from virtshape.apiserver.resource import Resource, resource_of
from virtshape.store.record import Key


def build_resource() -> Resource:
    kind = find_kind("kubevirt.io/v1", "VirtualMachine")
    assert kind is not None
    return resource_of(kind)


TREE = {
    "kind": "VirtualMachine",
    "spec": {"running": True, "memory": "1024Mi"},
    "apiVersion": "kubevirt.io/v1",
    "metadata": {"labels": {"a": "b"}, "name": "ignored"},
}


def test_uids_are_unique_random_uuids() -> None:
    uids = {make_uid() for _ in range(1000)}
    assert len(uids) == 1000
    assert all(uuid.UUID(uid).version == 4 and uuid.UUID(uid).variant == uuid.RFC_4122 for uid in uids)


def test_new_object_gets_server_set_metadata() -> None:
    new = initialize_object(build_resource(), TREE, "ns", "web", "2026-01-01T00:00:00Z")
    assert list(new) == ["apiVersion", "kind", "metadata", "spec"]
    assert new["spec"] == TREE["spec"]
    assert new["metadata"] | {"uid": ""} == {
        "name": "web",
        "namespace": "ns",
        "uid": "",
        "resourceVersion": "",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"a": "b"},
    }


def test_status_write_changes_only_the_status() -> None:
    old = initialize_object(build_resource(), TREE, "ns", "web", "2026-01-01T00:00:00Z")
    new = replace(build_resource(), old, {**old, "spec": {"running": False}, "status": {"ready": True}}, "status")
    assert (new["spec"], new["status"]) == (old["spec"], {"printableStatus": "Stopped", "ready": True})


def test_encoded_object_is_split_where_the_store_inserts_the_resource_version() -> None:
    old = initialize_object(build_resource(), TREE, "ns", "web", "2026-01-01T00:00:00Z")
    write = make_write(Key("r", "ns", "web"), 0, old)
    assert write.head.endswith(b'"resourceVersion":"')
    assert write.tail.startswith(b'"')
    assert encode_tree(old).count(b"resourceVersion") == 0, "an object that is not stored has no resourceVersion"


def test_metadata_fields_have_a_fixed_order() -> None:
    tree = assemble(TREE, {"labels": {"a": "b"}, "name": "x", "uid": "u", "resourceVersion": "5"})
    assert list(tree["metadata"]) == ["name", "uid", "resourceVersion", "labels"]

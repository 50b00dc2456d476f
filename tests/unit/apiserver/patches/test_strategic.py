"""Strategic merge patches merge lists by key, follow directives and do not modify their inputs."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from msgspec import inspect
from tests.unit.apiserver.trees import TREES

from virtshape.api.core.config import ConfigMap
from virtshape.api.core.namespace import Namespace
from virtshape.api.core.node import Node
from virtshape.api.core.podspec import Pod
from virtshape.api.core.service import Service
from virtshape.api.core.serviceaccount import ServiceAccount
from virtshape.api.deployment import Deployment
from virtshape.api.kinds import KINDS
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.patches.mergekeys import STRATEGIES
from virtshape.apiserver.patches.mergepatch import patch_merge
from virtshape.apiserver.patches.strategic import patch_strategic

Case = tuple[type, JsonObject, JsonObject, JsonObject]


def pod(*containers: JsonObject, **spec: Any) -> JsonObject:
    return {"spec": {"containers": list(containers), **spec}}


def named(*names: str) -> list[JsonObject]:
    return [{"name": name} for name in names]


def meta(**metadata: Any) -> JsonObject:
    return {"metadata": metadata}


MERGED: dict[str, Case] = {
    "plain values": (ConfigMap, {"data": {"a": "1", "b": "2"}}, {"data": {"a": "3", "b": None}}, {"data": {"a": "3"}}),
    "container by name": (
        Pod,
        pod({"name": "a", "image": "x", "tty": True}, {"name": "b", "image": "y"}),
        pod({"name": "a", "image": "z", "tty": None}),
        pod({"name": "a", "image": "z"}, {"name": "b", "image": "y"}),
    ),
    "new container": (
        Pod,
        pod({"name": "a"}),
        pod({"name": "b", "image": "y"}),
        pod({"name": "b", "image": "y"}, {"name": "a"}),
    ),
    "lists in list items": (
        Pod,
        pod({"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]}),
        pod({"name": "a", "env": [{"name": "Y", "value": "3"}]}),
        pod({"name": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "3"}]}),
    ),
    "lists without a key are replaced": (
        Pod,
        pod({"name": "a", "args": ["1", "2"]}, tolerations=[{"key": "k"}]),
        pod({"name": "a", "args": ["3"]}, tolerations=[{"key": "l"}]),
        pod({"name": "a", "args": ["3"]}, tolerations=[{"key": "l"}]),
    ),
    "pod template": (
        Deployment,
        {"spec": {"replicas": 1, "template": pod({"name": "a", "image": "x"})}},
        {"spec": {"template": pod({"name": "a", "image": "y"})}},
        {"spec": {"replicas": 1, "template": pod({"name": "a", "image": "y"})}},
    ),
    "ports by number": (
        Service,
        {"spec": {"ports": [{"port": 80, "name": "web"}, {"port": 22}]}},
        {"spec": {"ports": [{"port": 80, "targetPort": 8080}]}},
        {"spec": {"ports": [{"port": 80, "name": "web", "targetPort": 8080}, {"port": 22}]}},
    ),
    "conditions by type": (
        Node,
        {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Boot"}]}},
        {"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}]}},
        {
            "status": {
                "conditions": [
                    {"type": "Ready", "status": "True", "reason": "Boot"},
                    {"type": "DiskPressure", "status": "False"},
                ]
            }
        },
    ),
    "owners by uid": (
        ConfigMap,
        meta(ownerReferences=[{"uid": "1", "name": "a"}]),
        meta(ownerReferences=[{"uid": "2", "name": "b"}, {"uid": "1", "controller": True}]),
        meta(ownerReferences=[{"uid": "2", "name": "b"}, {"uid": "1", "name": "a", "controller": True}]),
    ),
    "finalizers are united": (
        ConfigMap,
        meta(finalizers=["a"]),
        meta(finalizers=["b", "a"]),
        meta(finalizers=["b", "a"]),
    ),
    "finalizers of a namespace spec are replaced": (
        Namespace,
        {"spec": {"finalizers": ["kubernetes"]}},
        {"spec": {"finalizers": ["x"]}},
        {"spec": {"finalizers": ["x"]}},
    ),
    "secrets of a service account, but not image pull secrets": (
        ServiceAccount,
        {"secrets": named("a"), "imagePullSecrets": named("a")},
        {"secrets": named("b"), "imagePullSecrets": named("b")},
        {"secrets": named("b", "a"), "imagePullSecrets": named("b")},
    ),
    "unknown field": (Pod, {"spec": {}}, {"spec": {"new": {"x": [1]}}}, {"spec": {"new": {"x": [1]}}}),
    "object in place of null": (Pod, {"spec": None}, pod({"name": "a", "tty": None}), pod({"name": "a"})),
}

DIRECTED: dict[str, Case] = {
    "replace an object": (
        ConfigMap,
        {"data": {"a": "1"}},
        {"data": {"$patch": "replace", "b": "2"}},
        {"data": {"b": "2"}},
    ),
    "delete an object's content": (ConfigMap, {"data": {"a": "1"}}, {"data": {"$patch": "delete"}}, {"data": {}}),
    "explicit merge": (
        ConfigMap,
        {"data": {"a": "1"}},
        {"data": {"$patch": "merge", "b": "2"}},
        {"data": {"a": "1", "b": "2"}},
    ),
    "replace a list": (
        Pod,
        pod({"name": "a"}, {"name": "b"}),
        pod({"name": "c"}, {"$patch": "replace"}),
        pod({"name": "c"}),
    ),
    "delete an item": (
        Pod,
        pod({"name": "a"}, {"name": "b"}),
        pod({"name": "a", "$patch": "delete"}, {"name": "c"}),
        pod({"name": "c"}, {"name": "b"}),
    ),
    "delete a missing item": (
        Pod,
        pod({"name": "a"}),
        pod({"name": "z", "$patch": "delete"}),
        pod({"name": "a"}),
    ),
    "delete an item of a new list": (
        Pod,
        {"spec": {}},
        pod({"name": "a", "$patch": "delete"}, {"name": "b"}),
        pod({"name": "b"}),
    ),
    "replace an item": (
        Pod,
        pod({"name": "a", "env": named("X")}),
        pod({"name": "a", "env": [{"$patch": "replace"}, {"name": "Y"}]}),
        pod({"name": "a", "env": named("Y")}),
    ),
    "delete a plain value": (
        ConfigMap,
        meta(finalizers=["a", "b"]),
        meta(**{"$deleteFromPrimitiveList/finalizers": ["a", "z"]}),
        meta(finalizers=["b"]),
    ),
    "delete a plain value and add one": (
        ConfigMap,
        meta(finalizers=["a", "b"]),
        meta(**{"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}),
        meta(finalizers=["c", "b"]),
    ),
    "delete from a missing list": (
        ConfigMap,
        meta(),
        meta(**{"$deleteFromPrimitiveList/finalizers": ["a"]}),
        meta(),
    ),
    "retain some keys": (
        Deployment,
        {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}},
        {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
        {"spec": {"strategy": {"type": "Recreate"}}},
    ),
    "retain some keys of an item": (
        Pod,
        pod(volumes=[{"name": "v", "emptyDir": {}}]),
        pod(volumes=[{"name": "v", "secret": {"secretName": "s"}, "$retainKeys": ["name", "secret"]}]),
        pod(volumes=[{"name": "v", "secret": {"secretName": "s"}}]),
    ),
    "order with live items": (
        Pod,
        pod(*named("a", "x", "b", "c")),
        {"spec": {"$setElementOrder/containers": named("c", "b", "a")}},
        pod(*named("x", "c", "b", "a")),
    ),
    "order with a new item": (
        Pod,
        pod(*named("a", "b")),
        {"spec": {"$setElementOrder/containers": named("new", "a", "b"), "containers": [{"name": "new", "tty": True}]}},
        pod({"name": "new", "tty": True}, *named("a", "b")),
    ),
    "order of added and deleted items": (
        Pod,
        pod(*named("a", "b")),
        {
            "spec": {
                "$setElementOrder/containers": named("b", "c"),
                "containers": [{"name": "c"}, {"name": "a", "$patch": "delete"}],
            }
        },
        pod(*named("b", "c")),
    ),
    "order of plain values": (
        ConfigMap,
        meta(finalizers=["a", "b"]),
        meta(**{"$setElementOrder/finalizers": ["c", "b", "a"], "finalizers": ["c"]}),
        meta(finalizers=["c", "b", "a"]),
    ),
    "empty order": (Pod, {"spec": {}}, {"spec": {"$setElementOrder/containers": named("a")}}, {"spec": {}}),
    "order of a new list": (
        Pod,
        {"spec": {}},
        {"spec": {"$setElementOrder/containers": named("a", "b"), "containers": named("a", "b")}},
        pod(*named("a", "b")),
    ),
}

REFUSED: dict[str, tuple[type, JsonObject, Any, str]] = {
    "not an object": (Pod, {}, [], "error decoding patch: json: cannot unmarshal array into an object"),
    "unknown directive": (Pod, {}, {"$patch": "explode"}, 'unknown patch type "explode"'),
    "unknown directive in a list": (Pod, pod({"name": "a"}), pod({"name": "a", "$patch": "merge"}), "lists cannot be"),
    "item without its key": (
        Pod,
        pod({"name": "a"}),
        pod({"image": "x"}),
        'map: {"image":"x"} does not contain declared merge key: name',
    ),
    "item to delete without its key": (Pod, pod({"name": "a"}), pod({"$patch": "delete"}), "does not contain declared"),
    "item that is not an object": (
        Pod,
        pod({"name": "a"}),
        {"spec": {"containers": ["a"]}},
        "does not contain declared",
    ),
    "object among plain values": (
        ConfigMap,
        meta(finalizers=["a"]),
        meta(finalizers=[{}]),
        "invalid patch format of primitive",
    ),
    "retained keys that are not a list": (
        Pod,
        {"spec": {}},
        {"spec": {"$retainKeys": "a"}},
        "invalid patch format of retainKeys",
    ),
    "keys that are not retained": (
        Pod,
        {"spec": {}},
        {"spec": {"$retainKeys": ["a"], "b": 1}},
        "patch content doesn't match retainKeys list",
    ),
    "deleted values that are not a list": (
        ConfigMap,
        meta(),
        meta(**{"$deleteFromPrimitiveList/finalizers": "a"}),
        "invalid patch format of primitive list",
    ),
    "order that is not a list": (
        ConfigMap,
        meta(finalizers=["a"]),
        meta(**{"$setElementOrder/finalizers": "a"}),
        "invalid patch format of setElementOrder list",
    ),
    "order that contradicts the patch": (
        Pod,
        pod(*named("a", "b")),
        {"spec": {"$setElementOrder/containers": named("a", "b"), "containers": named("b", "a")}},
        "The order in patch list: ",
    ),
}


@pytest.mark.parametrize(("struct", "tree", "patch", "expected"), MERGED.values(), ids=MERGED)
def test_strategic_merge_patch_is_applied(
    struct: type, tree: JsonObject, patch: JsonObject, expected: JsonObject
) -> None:
    before = deepcopy((tree, patch))
    assert patch_strategic(tree, patch, struct) == expected
    assert (tree, patch) == before


@pytest.mark.parametrize(("struct", "tree", "patch", "expected"), DIRECTED.values(), ids=DIRECTED)
def test_strategic_merge_patch_directives_are_followed(
    struct: type, tree: JsonObject, patch: JsonObject, expected: JsonObject
) -> None:
    before = deepcopy((tree, patch))
    assert patch_strategic(tree, patch, struct) == expected
    assert (tree, patch) == before


@pytest.mark.parametrize(("struct", "tree", "patch", "message"), REFUSED.values(), ids=REFUSED)
def test_invalid_strategic_merge_patch_is_rejected(struct: type, tree: JsonObject, patch: Any, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        patch_strategic(tree, patch, struct)
    expected = (500, "") if isinstance(patch, dict) else (400, "BadRequest")
    assert (caught.value.code, caught.value.reason) == expected
    assert message in caught.value.message


@given(tree=TREES, patch=TREES)
def test_strategic_merge_patch_without_merged_lists_equals_a_merge_patch(tree: JsonObject, patch: JsonObject) -> None:
    assert patch_strategic({"data": tree}, {"data": patch}, ConfigMap) == patch_merge({"data": tree}, {"data": patch})


def list_structs(shape: inspect.Type, found: dict[str, set[str]]) -> dict[str, set[str]]:
    match shape:
        case inspect.UnionType(types=types):
            for option in types:
                list_structs(option, found)
        case inspect.ListType(item_type=inner) | inspect.DictType(value_type=inner):
            list_structs(inner, found)
        case inspect.StructType(cls=struct, fields=fields) if struct.__name__ not in found:
            found[struct.__name__] = {field.encode_name for field in fields}
            for field in fields:
                list_structs(field.type, found)
    return found


def test_patch_strategies_name_existing_fields() -> None:
    found: dict[str, set[str]] = {}
    for kind in KINDS:
        if not kind.group.endswith("kubevirt.io"):
            list_structs(inspect.type_info(kind.struct), found)
    missing = {struct: fields.keys() - found.get(struct, set()) for struct, fields in STRATEGIES.items()}
    assert {struct: fields for struct, fields in missing.items() if fields} == {}

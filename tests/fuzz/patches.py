"""Fuzz targets: JSON patches, merge patches and strategic merge patches."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from tests.fuzz.objects import choose_object, kind_of, read_body, write_seeds
from tests.fuzz.target import Target

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.bodies import with_type
from virtshape.apiserver.patches.jsonpatch import patch_json
from virtshape.apiserver.patches.mergepatch import patch_merge
from virtshape.apiserver.patches.strategic import patch_strategic
from virtshape.apiserver.validation.strictness import admit_fields, check_patch_text

Patch = Callable[[JsonObject, Any], JsonObject]


def patch_as_server(data: bytes, patch: Patch, *, are_operations: bool) -> None:
    """Patch an object and check its fields as the server does; the object before the patch stays unchanged."""
    before, body = choose_object(data)
    kept = deepcopy(before)
    try:
        changes = read_body(body)
        check_patch_text(body, changes, are_operations, "Warn")
        patched = with_type(patch(before, changes), kind_of(before), patching=True)
        admit_fields(patched, None, kind_of(before), "Warn", patching=True)
    except StatusError:
        pass
    assert before == kept


def run_json_patch(data: bytes) -> None:
    """Apply a list of operations."""
    patch_as_server(data, patch_json, are_operations=True)


def run_merge_patch(data: bytes) -> None:
    """Merge a patch; merging it again changes nothing."""
    patch_as_server(data, merge_twice, are_operations=False)


def merge_twice(tree: JsonObject, patch: Any) -> JsonObject:
    """Merge a patch, and check that merging it again changes nothing."""
    merged = patch_merge(tree, patch)
    assert patch_merge(merged, patch) == merged
    return merged


def run_strategic_patch(data: bytes) -> None:
    """Merge a patch by the strategies of the object's kind."""
    kind = kind_of(choose_object(data)[0])
    patch_as_server(data, lambda tree, patch: patch_strategic(tree, patch, kind.struct), are_operations=False)


JSON_PATCH = Target(
    "jsonpatch",
    run_json_patch,
    write_seeds(
        [
            {"op": "test", "path": "/kind", "value": "Pod"},
            {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/c"},
            {"op": "move", "from": "/metadata/labels", "path": "/metadata/annotations"},
        ],
        [
            {"op": "remove", "path": "/metadata/finalizers/0"},
            {"op": "copy", "from": "/spec", "path": "/metadata/labels/a~1b~0c"},
            {"op": "replace", "path": "", "value": {}},
        ],
    ),
    (b'"op":"test"', b'"path":"', b"/-", b"/0", b"~0", b"~1", b"/metadata", b"/spec/containers", b'"from":"'),
)
MERGE_PATCH = Target(
    "mergepatch",
    run_merge_patch,
    write_seeds(
        {"metadata": {"labels": {"app": None, "x": "y"}, "finalizers": None}, "spec": {"ports": []}},
        {"spec": None, "kind": "Pod", "apiVersion": "v1"},
    ),
    (b'"metadata":', b'"spec":', b"null", b'"kind":'),
)
STRATEGIC_PATCH = Target(
    "strategicpatch",
    run_strategic_patch,
    write_seeds(
        {"spec": {"containers": [{"name": "a", "env": [{"name": "x", "$patch": "delete"}, {"name": "z"}]}]}},
        {
            "spec": {
                "ports": [{"port": 80, "$patch": "replace"}],
                "$setElementOrder/ports": [{"port": 53}, {"port": 80}],
            }
        },
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"], "$retainKeys": ["name"]}},
        {"spec": {"$patch": "replace", "volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"]}]}},
    ),
    (
        b'"$patch":"delete"',
        b'"$setElementOrder/',
        b'"$retainKeys":',
        b'"$deleteFromPrimitiveList/',
        b'"name":',
        b"null",
    ),
)

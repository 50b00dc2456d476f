"""Fuzz target: server-side apply, including the field sets in managedFields."""

from contextlib import suppress
from copy import deepcopy
from typing import Any, Final

from tests.fuzz.objects import choose_object, kind_of, read_body, write_seeds
from tests.fuzz.target import Target

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.managedfields.fieldtypes import object_type
from virtshape.apiserver.managedfields.managedfields import FieldManager, parse_entries
from virtshape.apiserver.managedfields.serversideapply import apply, validate_apply_body
from virtshape.apiserver.validation.strictness import admit_fields, validate_part

TIME: Final = "2026-05-01T12:00:00Z"


def run(data: bytes) -> None:
    """Apply an object twice to an existing one, as the server does; the second time changes nothing."""
    live, body = choose_object(data)
    kept = deepcopy(live)
    with suppress(StatusError):
        applied = read_body(body)
        parse_entries(applied)
        if isinstance(applied, dict):
            apply_twice(live, {**applied, "apiVersion": live["apiVersion"], "kind": live["kind"]})
    assert live == kept


def apply_twice(live: JsonObject, applied: JsonObject) -> None:
    """Apply an object; apply it again, with the same result."""
    kind = kind_of(live)
    if not isinstance(applied.get("metadata"), dict | None):
        return  # rejected before
    validate_apply_body(applied, kind)
    validate_part(applied, kind)
    for force in (False, True):
        with suppress(StatusError):
            first = put(live, applied, force=force)
            assert put(first, applied, force=force) == first
            admit_fields(first, None, kind, "Ignore", patching=True)
    put(None, applied, force=False)


def put(live: JsonObject | None, applied: JsonObject, **options: Any) -> JsonObject:
    """Apply an object as one field manager."""
    manager = FieldManager("fuzzer", applied["apiVersion"], TIME)
    kind = kind_of(applied)
    return apply(live, applied, manager, object_type(kind), **options)


TARGET = Target(
    "apply",
    run,
    write_seeds(
        {"metadata": {"labels": {"app": "db"}, "finalizers": ["example.com/a"]}},
        {"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}},
        {"spec": {"ports": [{"port": 80, "protocol": "TCP", "name": "c"}], "selector": {"a": "b"}}},
        {"spec": {"template": {"spec": {"volumes": [{"name": "x", "emptyDisk": {"capacity": "1Gi"}}]}}}},
        [
            {
                "manager": "m",
                "operation": "Apply",
                "apiVersion": "v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {".": {}, 'k:{"port":80,"protocol":"TCP"}': {}, 'v:"x"': {}, "i:0": {}}},
            }
        ],
    ),
    (b'"f:spec":', b'"k:{}":', b'"v:1":', b'"i:0":', b'".":{}', b'"name":', b"null", b'"managedFields":'),
)

"""Protobuf bodies are converted to the JSON that other clients send."""

import json
from typing import Any

import pytest

from virtshape.api.kinds import KINDS, Kind, is_custom_resource
from virtshape.api.status import StatusError
from virtshape.apiserver.encoding.protobuf import translate


def write(fields: list[tuple[int, Any]]) -> bytes:
    """Encode a message with these field numbers and values; a list is a nested message."""
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(_varint(number << 3) + _varint(value & 0xFFFFFFFFFFFFFFFF))
            continue
        data = write(value) if isinstance(value, list) else value.encode() if isinstance(value, str) else value
        parts.append(_varint(number << 3 | 2) + _varint(len(data)) + data)
    return b"".join(parts)


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def wrap(api_version: str, kind: str, fields: list[tuple[int, Any]]) -> bytes:
    return b"k8s\0" + write([(1, [(1, api_version), (2, kind)]), (2, write(fields)), (3, ""), (4, "")])


def read(api_version: str, kind: str, *fields: tuple[int, Any]) -> Any:
    tree = json.loads(translate(wrap(api_version, kind, list(fields))))
    assert (tree.pop("apiVersion"), tree.pop("kind")) == (api_version, kind)
    return tree


# Bodies that kubectl 1.37 sends.
SENT: dict[str, tuple[str, dict[str, Any]]] = {
    "secret": (
        (
            "6b3873000a0c0a027631120653656372657412280a150a017312001a0470726f6422002a00320038004200120d0a0475736572120561"
            "646d696e1a001a002200"
        ),
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "s", "namespace": "prod"},
            "data": {"user": "YWRtaW4="},
        },
    ),
    "deployment": (
        (
            "6b3873000a150a07617070732f7631120a4465706c6f796d656e7412bc010a230a0377656212001a0470726f6422002a003200380042"
            "005a0a0a0361707012037765621286010800120c0a0a0a0361707012037765621a6c0a1c0a0012001a0022002a003200380042005a0a"
            "0a036170701203776562124c122e0a056e67696e7812056e67696e782a00320a0a001000185022002a0042006a007200800100880100"
            "900100a201001a00320042004a0052005800600068008201008a01009a0100c2010022020a00280038001a0c08001000180020002800"
            "38001a002200"
        ),
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "prod", "labels": {"app": "web"}},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {
                        "containers": [
                            {"name": "nginx", "image": "nginx", "ports": [{"containerPort": 80}], "resources": {}}
                        ]
                    },
                },
                "strategy": {},
            },
            "status": {},
        },
    ),
    "service": (
        (
            "6b3873000a0d0a027631120753657276696365126a0a1f0a017312001a0470726f6422002a003200380042005a080a03617070120173"
            "12430a1e0a0738302d6874747012035443501850220a080110001a0468747470280012080a036170701201731a002209436c75737465"
            "7249503a00420052005a00600068001a020a001a002200"
        ),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "s", "namespace": "prod", "labels": {"app": "s"}},
            "spec": {
                "ports": [{"name": "80-http", "protocol": "TCP", "port": 80, "targetPort": "http"}],
                "selector": {"app": "s"},
                "type": "ClusterIP",
            },
            "status": {"loadBalancer": {}},
        },
    ),
    "token request": (
        (
            "6b3873000a280a1861757468656e7469636174696f6e2e6b38732e696f2f7631120c546f6b656e52657175657374121d0a100a001200"
            "1a0022002a00320038004200120320d8041a040a0012001a002200"
        ),
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {},
            "spec": {"expirationSeconds": 600},
            "status": {"token": ""},
        },
    ),
}


@pytest.mark.parametrize(("sent", "tree"), SENT.values(), ids=SENT.keys())
def test_recorded_protobuf_bodies_are_converted(sent: str, tree: dict[str, Any]) -> None:
    assert json.loads(translate(bytes.fromhex(sent))) == tree


VALUES: dict[str, tuple[str, str, tuple[int, Any], Any]] = {
    "time": (
        "v1",
        "Secret",
        (1, [(8, [(1, 1700000000)])]),
        {"metadata": {"creationTimestamp": "2023-11-14T22:13:20Z"}},
    ),
    "empty time": ("v1", "Secret", (1, [(8, b"")]), {"metadata": {}}),
    "time with microseconds": (
        "coordination.k8s.io/v1",
        "Lease",
        (2, [(4, [(1, 1700000000), (2, 123456789)])]),
        {"spec": {"renewTime": "2023-11-14T22:13:20.123456Z"}},
    ),
    "whole second of a time with microseconds": (
        "coordination.k8s.io/v1",
        "Lease",
        (2, [(4, [(1, 1700000000)])]),
        {"spec": {"renewTime": "2023-11-14T22:13:20.000000Z"}},
    ),
    "map of quantities": (
        "v1",
        "PersistentVolumeClaim",
        (2, [(2, [(2, [(1, "storage"), (2, [(1, "1Gi")])])])]),
        {"spec": {"resources": {"requests": {"storage": "1Gi"}}}},
    ),
    "explicit empty string": (
        "v1",
        "PersistentVolumeClaim",
        (2, [(5, ""), (3, "")]),
        {"spec": {"storageClassName": ""}},
    ),
    "explicit false": ("v1", "ConfigMap", (4, 0), {"immutable": False}),
    "negative number": ("v1", "Pod", (2, [(25, -5)]), {"spec": {"priority": -5}}),
    "repeated numbers": (
        "v1",
        "Pod",
        (2, [(14, [(4, 1), (4, 2)])]),
        {"spec": {"securityContext": {"supplementalGroups": [1, 2]}}},
    ),
    "packed numbers": (
        "v1",
        "Pod",
        (2, [(14, [(4, b"\x01\x02")])]),
        {"spec": {"securityContext": {"supplementalGroups": [1, 2]}}},
    ),
    "inlined message": (
        "v1",
        "Pod",
        (2, [(1, [(1, "v"), (2, [(6, [(1, "s")])])])]),
        {"spec": {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}},
    ),
    "embedded JSON": (
        "apps/v1",
        "ControllerRevision",
        (2, [(1, b'{"spec":{"a":1}}')]),
        {"data": {"spec": {"a": 1}}},
    ),
    "map of lists": (
        "authorization.k8s.io/v1",
        "SubjectAccessReview",
        (2, [(5, [(1, "k"), (2, [(1, "a"), (1, "b")])])]),
        {"spec": {"extra": {"k": ["a", "b"]}}},
    ),
    "unknown field": ("v1", "ConfigMap", (99, "new"), {}),
    "delete options": (
        "v1",
        "DeleteOptions",
        (2, [(1, "u1")]),
        {"preconditions": {"uid": "u1"}},
    ),
}


@pytest.mark.parametrize(("api_version", "kind", "field", "tree"), VALUES.values(), ids=VALUES.keys())
def test_protobuf_values_of_every_type_are_decoded(
    api_version: str, kind: str, field: tuple[int, Any], tree: Any
) -> None:
    assert read(api_version, kind, field) == tree


OWN = [
    kind
    for kind in KINDS
    if not is_custom_resource(kind) and kind.group not in ("apiextensions.k8s.io", "upload.cdi.kubevirt.io")
]


@pytest.mark.parametrize("kind", OWN, ids=lambda kind: kind.kind)
def test_protobuf_supports_all_builtin_kinds(kind: Kind) -> None:
    assert read(kind.api_version, kind.kind, (1, [(1, "x")])) == {"metadata": {"name": "x"}}


INVALID: dict[str, bytes] = {
    "JSON": b'{"kind":"Secret"}',
    "empty body": b"",
    "no envelope": b"k8s\0",
    "unknown kind": wrap("v1", "Nope", []),
    "custom resource": wrap("kubevirt.io/v1", "VirtualMachine", []),
    "truncated body": wrap("v1", "Secret", [(1, [(1, "name")])])[:-8],
    "number in place of a message": wrap("v1", "Secret", [(1, 5)]),
    "invalid UTF-8": wrap("v1", "Secret", [(1, [(1, b"\xff")])]),
    "varint without an end": b"k8s\0" + b"\xff" * 20,
    "unsupported wire type": b"k8s\0" + b"\x0d\0\0\0\0",
    "time after the year 9999": wrap("v1", "Secret", [(1, [(8, [(1, 1 << 62)])])]),
    "time before the year 1": wrap("v1", "Secret", [(1, [(8, [(1, -(1 << 62))])])]),
    "too many nanoseconds": wrap("coordination.k8s.io/v1", "Lease", [(2, [(3, [(1, 5), (2, 1 << 62)])])]),
    "deep fieldsV1": wrap("v1", "Secret", [(1, [(17, [(7, [(1, b"[" * 5000 + b"]" * 5000)])])])]),
    "broken embedded JSON": wrap("apps/v1", "ControllerRevision", [(2, [(1, b"{")])]),
}


@pytest.mark.parametrize("body", INVALID.values(), ids=INVALID.keys())
def test_invalid_protobuf_body_is_rejected(body: bytes) -> None:
    with pytest.raises(StatusError) as caught:
        translate(body)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")

"""Objects that patches and apply start from, and the decoding of bodies that the server does before it uses them."""

import json
from typing import Any, Final

from virtshape.api.kinds import Kind, find_kind
from virtshape.api.model import JsonObject
from virtshape.apiserver.bodies import read_json
from virtshape.apiserver.limits import validate_nesting

METADATA: Final[JsonObject] = {
    "name": "fuzzed",
    "namespace": "default",
    "uid": "u1",
    "labels": {"app": "web"},
    "finalizers": ["example.com/a", "example.com/b"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u2"}],
    "managedFields": [
        {
            "manager": "other",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "2026-05-01T08:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {}},
        }
    ],
}
POD: Final[JsonObject] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": METADATA,
    "spec": {
        "containers": [{"name": "a", "image": "b", "env": [{"name": "x", "value": "1"}, {"name": "y"}]}],
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
    },
}
SERVICE: Final[JsonObject] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": METADATA,
    "spec": {"ports": [{"name": "a", "port": 80, "protocol": "TCP"}, {"name": "b", "port": 53, "protocol": "UDP"}]},
}
VM: Final[JsonObject] = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": METADATA,
    "spec": {
        "runStrategy": "Always",
        "instancetype": {"name": "u1.small"},
        "template": {
            "spec": {
                "domain": {"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}},
                "volumes": [{"name": "root", "containerDisk": {"image": "fedora:40"}}],
            }
        },
    },
}
OBJECTS: Final = (POD, SERVICE, VM)


def choose_object(data: bytes) -> tuple[JsonObject, bytes]:
    """Return the object that the first byte of an input selects, and the rest of the input."""
    return OBJECTS[data[0] % len(OBJECTS)] if data else POD, data[1:]


def kind_of(tree: JsonObject) -> Kind:
    """Return the kind of one of the OBJECTS."""
    kind = find_kind(tree["apiVersion"], tree["kind"])
    assert kind is not None
    return kind


def read_body(body: bytes) -> Any:
    """Decode a JSON body as the server does; raise StatusError if it is invalid."""
    validate_nesting(body)
    return read_json(body)


def write_seeds(*trees: object) -> tuple[bytes, ...]:
    """Return each tree as JSON, once for each of the OBJECTS."""
    return tuple(bytes([number]) + json.dumps(tree).encode() for number in range(len(OBJECTS)) for tree in trees)

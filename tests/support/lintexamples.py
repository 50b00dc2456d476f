"""Full manifests for the lint rule examples."""

import json
from typing import Any, Final

from virtshape.api.yaml import read_documents
from virtshape.offline.lint.examples import load_examples

_TOP_LEVEL_FIELDS: Final = ("apiVersion:", "metadata:", "spec:")
_VM: Final[dict[str, Any]] = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web"},
    "spec": {
        "runStrategy": "Always",
        "template": {"spec": {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}}},
    },
}


def build_example(rule: str) -> bytes:
    """Return the manifest of a rule's example: the example itself, or a VM with the fields in the example."""
    example = load_examples()[rule]
    if not example.startswith(_TOP_LEVEL_FIELDS) or "\nkind: " in example:
        return example.encode()
    (document,) = read_documents(example)
    return json.dumps(_merge(_VM, document.tree)).encode()


def _merge(base: Any, part: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(part, dict):
        return part
    return {**base, **{key: _merge(base.get(key), value) for key, value in part.items()}}

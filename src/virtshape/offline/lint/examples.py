"""
Load an example for each rule: a manifest that violates the rule, or the part of a VM that does.

The examples are in examples.txt.
"""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any, Final

from virtshape.api.yaml import read_documents

TARGET: Final = "kubevirt-1.3"
"""The target in the examples for target rules."""

_TITLE: Final = re.compile(r"^== (\S+)\n", re.MULTILINE)
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


@cache
def load_examples() -> dict[str, str]:
    """Return the examples by rule; a part of a VM begins with one of its top-level fields."""
    text = files("virtshape.offline.lint").joinpath("examples.txt").read_text("utf-8")
    _, *pieces = _TITLE.split(text)
    return {name: f"{example.rstrip()}\n" for name, example in zip(pieces[::2], pieces[1::2], strict=True)}


def build_manifest(example: str) -> bytes:
    """Return the manifest for an example: the example itself, or a VM with the part that it shows."""
    if not example.startswith(_TOP_LEVEL_FIELDS) or "\nkind: " in example:
        return example.encode()
    (document,) = read_documents(example)
    return json.dumps(_merge(_VM, document.tree)).encode()


def _merge(base: Any, part: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(part, dict):
        return part
    return {**base, **{key: _merge(base.get(key), value) for key, value in part.items()}}

"""Fuzz target: YAML text of request bodies and files."""

import re
from typing import Any

from tests.fuzz.samples import MANIFESTS
from tests.fuzz.target import Target

from virtshape.api.yaml import read_documents, write_yaml
from virtshape.api.yaml.documents import YAMLError

_HUGE = re.compile(rb"[0-9_]{19}|e[+]?[0-9]{2}", re.IGNORECASE)


def run(data: bytes) -> None:
    """Read all documents; what is written from them reads back unchanged."""
    try:
        documents = read_documents(data, "body", most=1000)
    except YAMLError:
        return
    if _HUGE.search(data):
        return  # JSON keeps integers beyond 64 bits, and YAML has floats for them
    for document in documents:
        check_round_trip(document.tree)


def check_round_trip(tree: Any) -> None:
    """Check that the YAML of a tree reads back as the same tree."""
    (again,) = read_documents(write_yaml(tree))
    assert again.tree == tree


TARGET = Target(
    "yaml",
    run,
    (
        *MANIFESTS,
        b"a: &x [1, 0x1f, 1e3, .inf, ~]\nb: *x\n<<: {c: !!int '5'}\n",
        b"{a: [1, {b: 2}], ? c : d}\n--- # next\n'e': \"\\u00e9\\\n  f\"\n...\n",
        b"a: |2+\n   x\n\nb: >-\n  y\n  z\n",
        b'{"a": 1}{"b": [true, null]}',
        b"apiVersion: v1\nkind: List\nitems:\n- {a: 1}\n",
    ),
    (
        b"---",
        b"&a ",
        b"*a",
        b"<<: ",
        b"!!str ",
        b"|",
        b">",
        b"? ",
        b": ",
        b"- ",
        b"[",
        b"]",
        b"{",
        b"}",
        b"%YAML 1.1\n",
    ),
)

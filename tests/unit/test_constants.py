"""Each key of a label, annotation or finalizer is defined in exactly one module."""

import ast
import re
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/virtshape"
_KEY = re.compile(r"[a-z0-9.-]+\.(?:io|com)/(?!v\d)[A-Za-z0-9._/-]+")
"""Matches keys with a domain prefix, but not API versions."""


def test_each_label_annotation_or_finalizer_key_is_in_one_module() -> None:
    modules: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _KEY.fullmatch(node.value):
                modules[node.value].add(str(path.relative_to(SOURCE)))
    assert {key: sorted(found) for key, found in modules.items() if len(found) > 1} == {}
    assert len(modules) > 50

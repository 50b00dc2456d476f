"""
Load the lint rule examples. Each example violates its rule.

The examples are in examples.txt.
"""

import re
from functools import cache
from importlib.resources import files
from typing import Final

TARGET: Final = "kubevirt-1.3"
"""The KubeVirt release that the examples for target rules are checked against."""

_TITLE: Final = re.compile(r"^== (\S+)\n", re.MULTILINE)


@cache
def load_examples() -> dict[str, str]:
    """Return the examples by rule; an example is a whole manifest, or only the fields of a VM that violate the rule."""
    text = files("virtshape.offline.lint").joinpath("examples.txt").read_text("utf-8")
    _, *pieces = _TITLE.split(text)
    return {name: f"{example.rstrip()}\n" for name, example in zip(pieces[::2], pieces[1::2], strict=True)}

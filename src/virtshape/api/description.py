"""
What the source says about structs and their fields: class docstrings and the text under each field.

Read from the modules' source, once a module, since neither Python nor msgspec keeps the text under a field.
"""

import ast
import importlib
import inspect
from functools import cache
from typing import NamedTuple

from msgspec import Struct


class Description(NamedTuple):
    """The texts of one struct."""

    summary: str
    """What the struct is; empty if its class has no docstring."""
    fields: dict[str, str]
    """What each field means, by its Python name; a field without text is left out."""


@cache
def describe(struct: type[Struct]) -> Description:
    """Look up the texts of a struct; an inherited field keeps the text of the class that declares it."""
    fields: dict[str, str] = {}
    for ancestor in reversed(struct.__mro__):
        if issubclass(ancestor, Struct) and ancestor is not Struct:
            fields |= _read(ancestor).fields
    return Description(_read(struct).summary, fields)


def _read(struct: type[Struct]) -> Description:
    return _read_module(struct.__module__).get(struct.__name__, Description("", {}))


@cache
def _read_module(name: str) -> dict[str, Description]:
    source = ast.parse(inspect.getsource(importlib.import_module(name)))
    return {
        node.name: Description(_unwrap(ast.get_docstring(node) or ""), _read_fields(node))
        for node in ast.walk(source)
        if isinstance(node, ast.ClassDef)
    }


def _read_fields(node: ast.ClassDef) -> dict[str, str]:
    fields = {}
    for declaration, text in zip(node.body, node.body[1:], strict=False):
        match declaration, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                fields[name] = _unwrap(inspect.cleandoc(words))
    return fields


def _unwrap(text: str) -> str:
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))

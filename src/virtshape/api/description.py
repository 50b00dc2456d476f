"""
Descriptions of structs and their fields, from class docstrings and the docstrings under the fields.

This module reads docstrings from the source code, because neither Python nor msgspec stores docstrings of fields.
"""

import ast
import importlib
import inspect
from functools import cache
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import fields as list_fields

from virtshape.api.kubevirt.noeffect import CLUSTER_ONLY, NO_EFFECT

_MARKS: Final = (
    (NO_EFFECT, "Not supported by virtshape; it has no effect."),
    (CLUSTER_ONLY, "Only affects guests in pods on a cluster."),
)


class Description(NamedTuple):
    """The descriptions of a struct and its fields."""

    summary: str
    """The class docstring, or an empty string."""
    fields: dict[str, str]
    """The field descriptions by Python name; fields without a description are left out."""


@cache
def describe(struct: type[Struct]) -> Description:
    """
    Return the descriptions of a struct; inherited fields are described as in the class that declares them.

    Fields that have no effect, or only on clusters, are marked as such.
    """
    fields: dict[str, str] = {}
    for ancestor in reversed(struct.__mro__):
        if issubclass(ancestor, Struct) and ancestor is not Struct:
            fields |= _read(ancestor).fields
    for listed, mark in _MARKS:
        if struct in listed:
            for field in list_fields(struct):
                if field.encode_name in listed[struct]:
                    fields[field.name] = f"{fields[field.name]} {mark}"
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
    for declaration, docstring in zip(node.body, node.body[1:], strict=False):
        match declaration, docstring:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                fields[name] = _unwrap(inspect.cleandoc(text))
    return fields


def _unwrap(text: str) -> str:
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))

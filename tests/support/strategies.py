"""
Hypothesis strategies for API objects, derived from the types of the structs.

They build any object that the types allow, including invalid ones.
"""

from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st
from msgspec import Struct, inspect

from virtshape.api.quantity import Quantity

T = TypeVar("T", bound=Struct)

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_QUANTITIES = st.builds(
    lambda number, suffix: Quantity(f"{number}{suffix}"),
    st.integers(0, 10**6),
    st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi"]),
)
_JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | _TEXTS,
    lambda values: st.lists(values, max_size=2) | st.dictionaries(_TEXTS, values, max_size=2),
    max_leaves=4,
)


def structs(struct: type[T], **fixed: object) -> st.SearchStrategy[T]:
    """Return a strategy for objects of this struct: the given fields are fixed, the others random and often unset."""
    return _structs(_inspect(struct), fixed=fixed)


@cache
def _inspect(struct: type[Struct]) -> inspect.StructType:
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    return info


@st.composite
def _structs(draw: st.DrawFn, info: inspect.StructType, depth: int = 0, fixed: dict[str, object] | None = None) -> Any:
    values = fixed or {}
    fields = [field for field in info.fields if field.name not in values]
    optional = [field.name for field in fields if not field.required]
    # Deeper structs get fewer fields, so that objects stay small and recursive structs end.
    chosen = draw(st.sets(st.sampled_from(optional), max_size=max(0, 4 - depth // 2))) if optional else set()
    drawn = {field.name: draw(_values(field.type, depth)) for field in fields if field.required or field.name in chosen}
    return info.cls(**values, **drawn)


_KNOWN: dict[tuple[int, int], st.SearchStrategy[Any]] = {}
"""Strategies by id of the type and depth; types have no hash, and `_inspect` caches them, so their ids stay valid."""


def _values(info: inspect.Type, depth: int) -> st.SearchStrategy[Any]:
    key = id(info), depth
    if key not in _KNOWN:
        _KNOWN[key] = _build_values(info, depth)
    return _KNOWN[key]


def _build_values(info: inspect.Type, depth: int) -> st.SearchStrategy[Any]:
    match info:
        case inspect.Metadata(type=inner):
            return _values(inner, depth)
        case inspect.UnionType(types=types):
            return st.one_of([_values(t, depth) for t in types if not isinstance(t, inspect.NoneType)])
        case inspect.StructType():
            return _structs(info, depth + 1)
        case inspect.ListType(item_type=item):
            return st.lists(_values(item, depth), max_size=2)
        case inspect.DictType(value_type=value):
            return st.dictionaries(_TEXTS, _values(value, depth), max_size=2)
        case inspect.LiteralType(values=values):
            return st.sampled_from(values)
        case inspect.IntType(ge=least, le=most):
            return st.integers(-(2**63) if least is None else least, 2**63 - 1 if most is None else most)
        case _:
            return _SCALARS[type(info)]


_SCALARS: dict[type[inspect.Type], st.SearchStrategy[Any]] = {
    inspect.AnyType: _JSON_VALUES,
    inspect.BoolType: st.booleans(),
    inspect.CustomType: _QUANTITIES,
    inspect.FloatType: st.floats(0, 1000),
    inspect.StrType: _TEXTS,
}

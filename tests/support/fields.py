"""List the fields of instance types, preferences and flavors, so that tests find untested fields."""

from collections.abc import Iterator

from msgspec import Struct, inspect

_SECTIONS = ("virtshape.api.instancetype.", "virtshape.api.flavor.")


def list_fields(struct: type[Struct]) -> Iterator[str]:
    """Yield the paths of all fields; a struct that VMIs also use counts as one field."""
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    for field in info.fields:
        section = _find_section(field.type)
        if section is None:
            yield field.encode_name
        else:
            yield from (f"{field.encode_name}.{below}" for below in list_fields(section))


def _find_section(info: inspect.Type) -> type[Struct] | None:
    for option in info.types if isinstance(info, inspect.UnionType) else (info,):
        if isinstance(option, inspect.StructType) and option.cls.__module__.startswith(_SECTIONS):
            return option.cls
    return None

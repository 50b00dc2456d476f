"""
Find the kinds of the API among its structs.

Independent of the registry, so that an unregistered kind is tested too.
"""

import importlib
import pkgutil
from collections.abc import Iterator

import virtshape.api
from virtshape.api.model import Model


def find_kinds() -> list[type[Model]]:
    """Return every struct of the API that is a top-level object, ordered by name."""
    for module in pkgutil.walk_packages(virtshape.api.__path__, f"{virtshape.api.__name__}."):
        importlib.import_module(module.name)
    kinds = [struct for struct in _find_structs(Model) if _is_kind(struct)]
    return sorted(kinds, key=lambda kind: (kind.__module__, kind.__name__))


def _find_structs(struct: type[Model]) -> Iterator[type[Model]]:
    for heir in struct.__subclasses__():
        yield heir
        yield from _find_structs(heir)


def _is_kind(struct: type[Model]) -> bool:
    fields = {"apiVersion", "kind", "metadata"}
    return struct.__module__.startswith(virtshape.api.__name__) and fields <= set(struct.__struct_encode_fields__)

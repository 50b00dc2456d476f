"""
Draft: the VMI metadata and spec that the engine completes, with an optional trace of the source of each field.

The engine applies one source after another. After each source, the engine attributes all new members to that source.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model

Source = Literal["VM", "instance type", "preference", "default"]


class Trace:
    """Records the source that wrote each member of each struct, list and map."""

    __slots__ = ("_members", "_writers")

    def __init__(self) -> None:
        self._members: dict[tuple[int, object], object] = {}  # references the values, so that their ids are not reused
        self._writers: dict[tuple[int, object], Source] = {}

    def record(self, value: object, source: Source) -> None:
        """Record the source of every member, at any depth, that was set or replaced since the last call."""
        for member, _, child in _members(value):
            key = id(value), member
            if key not in self._members or self._members[key] is not child:
                self._members[key] = child
                self._writers[key] = source
            self.record(child, source)

    def walk(self, value: object, path: str, source: Source = "VM") -> Iterator[tuple[str, object, Source]]:
        """Yield the path, value and source of each leaf of the value; `source` is the default if none is recorded."""
        leaf = True
        for member, step, child in _members(value):
            leaf = False
            yield from self.walk(child, f"{path}{step}", self._writers.get((id(value), member), source))
        if leaf:
            yield path, value, source


def _members(value: object) -> Iterator[tuple[object, str, object]]:
    match value:
        case Model():
            for name, wire_name in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
                child = getattr(value, name)
                if child is not None:
                    yield name, f".{wire_name}", child
        case dict():
            for key, child in value.items():
                yield key, f"[{key}]", child
        case list():
            for index, child in enumerate(value):
                yield index, f"[{index}]", child


class Draft(Struct, gc=False):
    """The metadata and spec that are being completed, and the trace if the caller asked for one."""

    metadata: ObjectMeta
    spec: VirtualMachineInstanceSpec
    trace: Trace | None = None

    def attribute_to(self, source: Source) -> None:
        """If there is a trace, record this source for everything that was set since the last call."""
        if self.trace is not None:
            self.trace.record(self.metadata, source)
            self.trace.record(self.spec, source)

"""
A VMI in the making: the copy that the engine writes to, and, when asked, who wrote what.

Every write of the engine goes through a draft, so that provenance is recorded where it arises.
"""

from collections.abc import Iterator
from typing import Any, Literal

from msgspec.structs import fields

from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model

Source = Literal["VM", "instance type", "preference", "default"]


class Trace:
    """Which source wrote which member of which struct, list or map."""

    __slots__ = ("_kept", "_writers")

    def __init__(self) -> None:
        self._writers: dict[tuple[int, object], Source] = {}
        self._kept: list[object] = []  # an id names an object only as long as that lives

    def record(self, owner: object, member: object, source: Source) -> None:
        """Note that the source wrote this member."""
        self._writers[id(owner), member] = source
        self._kept.append(owner)

    def walk(self, value: object, path: str, source: Source = "VM") -> Iterator[tuple[str, object, Source]]:
        """Each leaf below the value: its path, what stands there, who wrote it or the nearest thing around it."""
        members = list(_members(value))
        if not members:
            yield path, value, source
        for member, step, child in members:
            writer = self._writers.get((id(value), member), source)
            yield from self.walk(child, f"{path}{step}", writer)


def _members(value: object) -> Iterator[tuple[object, str, object]]:
    match value:
        case Model():
            for field in fields(value):
                child = getattr(value, field.name)
                if child is not None:
                    yield field.name, f".{field.encode_name}", child
        case dict():
            for key, child in value.items():
                yield key, f"[{key}]", child
        case list():
            for index, child in enumerate(value):
                yield index, f"[{index}]", child


class Draft:
    """The metadata and spec being shaped, and whose turn it is."""

    __slots__ = ("metadata", "source", "spec", "trace")

    def __init__(self, metadata: ObjectMeta, spec: VirtualMachineInstanceSpec, trace: Trace | None = None) -> None:
        self.metadata = metadata
        self.spec = spec
        self.trace = trace
        self.source: Source = "VM"

    def put(self, owner: Model, name: str, value: object) -> None:
        """Write a field, whatever stood there."""
        setattr(owner, name, value)
        if self.trace is not None:
            self.trace.record(owner, name, self.source)

    def fill(self, owner: Model, name: str, value: object) -> None:
        """Write a field that nobody wrote, where empty text and absence are the same."""
        if value is not None and not getattr(owner, name):
            self.put(owner, name, value)

    def offer(self, owner: Model, name: str, value: object) -> None:
        """Write a field that nobody wrote, where `false`, `0` and `""` are somebody's choice."""
        if value is not None and getattr(owner, name) is None:
            self.put(owner, name, value)

    def append(self, owner: Model, name: str, item: Any) -> None:
        """Add an item to a list field."""
        items = getattr(owner, name)
        if items is None:
            items = []
            setattr(owner, name, items)
        items.append(item)
        if self.trace is not None:
            self.trace.record(items, len(items) - 1, self.source)

    def put_key(self, owner: dict[str, Any] | None, key: str, value: object) -> None:
        """Write an entry of a map."""
        if owner is not None:
            owner[key] = value
            if self.trace is not None:
                self.trace.record(owner, key, self.source)

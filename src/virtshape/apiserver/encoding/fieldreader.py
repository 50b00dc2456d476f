"""
Read a few fields from an object's JSON text without decoding all other fields.

Paths have the syntax of printer columns: `.spec.cpu.guest`, `.status.interfaces[0].ipAddress`,
`.status.conditions[?(@.type=='Ready')].status`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

_STEP = re.compile(r"\.(?P<name>\w+)(?:\[(?:(?P<position>\d+)|\?\(@\.(?P<key>\w+)=='(?P<value>[^']*)'\))\])?")


class _Step(NamedTuple):
    """One step of a path. If the field is a list, `position`, or `key` and `value`, select the element."""

    name: str
    position: int | None
    key: str | None
    value: str | None

    @property
    def is_list(self) -> bool:
        return self.position is not None or self.key is not None


class _Node:
    """The fields to read from one object: for each member, whether it is a list, and what to read below it."""

    def __init__(self) -> None:
        self.members: dict[str, tuple[bool, _Node | Any]] = {}


class FieldReader:
    """Reads the values at the given paths from an object, in the order of the paths; an absent value is None."""

    def __init__(self, paths: Mapping[str, Any] | list[str]) -> None:
        """
        Compile the paths; a mapping also specifies the type of each value.

        Values from a list of paths are plain JSON.
        """
        types = paths if isinstance(paths, Mapping) else dict.fromkeys(paths, Any)
        self._paths = [_parse(path) for path in types]
        root = _Node()
        for steps, type_ in zip(self._paths, types.values(), strict=True):
            _add_path(root, steps, type_)
        self._decode = msgspec.json.Decoder(_define(root)).decode
        self._get = _make_getter([_name_plain_part(steps) for steps in self._paths])
        self._in_lists = [
            (index, _make_picker(*steps[len(_plain_part(steps)) - 1 :]))
            for index, steps in enumerate(self._paths)
            if any(step.is_list for step in steps)
        ]

    def read(self, data: bytes | msgspec.Raw) -> list[Any]:
        """Return the values in the JSON text of an object."""
        found = self._decode(data)
        try:
            values = list(self._get(found))
        except AttributeError:  # one of the paths leads through a field that is null
            return [_follow(found, steps) for steps in self._paths]
        for index, pick in self._in_lists:
            values[index] = pick(values[index])
        return values


def _parse(path: str) -> list[_Step]:
    found = list(_STEP.finditer(path))
    if not found or "".join(step[0] for step in found) != path:
        raise ValueError(f"{path} is not a field path")
    return [
        _Step(step["name"], None if step["position"] is None else int(step["position"]), step["key"], step["value"])
        for step in found
    ]


def _add_path(node: _Node, steps: list[_Step], type_: Any) -> None:
    *above, last = steps
    for step in above:
        _, below = node.members.setdefault(step.name, (step.is_list, _Node()))
        if not isinstance(below, _Node):
            raise TypeError(f"{step.name} is already read completely")
        if step.key is not None:
            below.members.setdefault(step.key, (False, Any))
        node = below
    if isinstance(node.members.get(last.name, (False, Any))[1], _Node):
        raise TypeError(f"{last.name} is already read in part")
    node.members[last.name] = (last.is_list, type_)


def _define(node: _Node) -> type[msgspec.Struct]:
    fields: list[tuple[str, Any, Any]] = []
    for name, (is_list, below) in node.members.items():
        type_: Any = _define(below) if isinstance(below, _Node) else below
        if is_list:
            fields.append((name, list[type_] | None, None))
        elif isinstance(below, _Node):
            # An absent object counts as empty, so that one getter can read at any depth.
            fields.append((name, type_ | None, type_()))
        else:
            fields.append((name, type_, None))
    return msgspec.defstruct("Fields", fields, gc=False, frozen=True)


def _plain_part(steps: list[_Step]) -> list[_Step]:
    end = next((index + 1 for index, step in enumerate(steps) if step.is_list), len(steps))
    return steps[:end]


def _name_plain_part(steps: list[_Step]) -> str:
    return ".".join(step.name for step in _plain_part(steps))


def _make_getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    get = attrgetter(*names)
    return lambda value: (get(value),)


def _make_picker(step: _Step, *rest: _Step) -> Callable[[list[Any] | None], Any]:
    def pick_by_key(elements: list[Any] | None) -> Any:
        for element in elements or ():
            if get_key(element) == step.value:
                return _follow(element, rest)
        return None

    def pick_by_index(elements: list[Any] | None) -> Any:
        return _follow(elements[index], rest) if elements is not None and index < len(elements) else None

    get_key, index = attrgetter(step.key or ""), step.position or 0
    return pick_by_index if step.key is None else pick_by_key


def _follow(value: Any, steps: Iterable[_Step]) -> Any:
    for step in steps:
        if value is None:
            return None
        value = getattr(value, step.name)
        if step.is_list:
            value = _make_picker(step)(value)
    return value

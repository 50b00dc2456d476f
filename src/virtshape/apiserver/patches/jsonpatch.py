"""
JSON patch (RFC 6902): a list of operations, of which all or none are applied.

As in Kubernetes, a negative index counts from the end, absent members can be replaced, and absent values are null when
copied or tested. Containers are copied before their first change, so inputs never change.
"""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.violation import patch_type_error

MAX_OPERATIONS: Final = 10_000
MAX_COPIED_BYTES: Final = 3 * 1024 * 1024
DEEPEST_POINTER: Final = 256

_INDEX = re.compile(r"[+-]?[0-9]{1,9}")

Pointer = list[str]


class InapplicableError(Exception):
    """An operation cannot be applied; as in Kubernetes, the reason is not sent to the client."""


class Operation(NamedTuple):
    """One operation with parsed pointers; not all operations use `source` and `value`."""

    name: str
    target: Pointer
    source: Pointer
    value: object


def patch_json(tree: JsonObject, operations: object) -> JsonObject:
    """Return the object after all operations; raise StatusError 400 if one is invalid, 422 if one does not apply."""
    listed = _read_list([] if operations is None else operations)
    try:
        return _Draft(tree).perform_all(listed)
    except (InapplicableError, RecursionError) as error:
        message = "the server rejected our request due to an error in our request"
        raise StatusError(422, "Invalid", message) from error


def find_unknown_members(operations: list[Any]) -> list[str]:
    """Return warnings for members of operations that RFC 6902 does not define."""
    known = {"op", "path", "from", "value"}
    return [
        f'json patch unknown field "[{index}].{member}"'
        for index, operation in enumerate(operations)
        if isinstance(operation, dict)
        for member in operation
        if member not in known
    ]


def _read_list(operations: object) -> list[JsonObject]:
    if not isinstance(operations, list):
        raise patch_type_error(operations, "a list of operations")
    if len(operations) > MAX_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")
    for operation in operations:
        if not isinstance(operation, dict):
            raise patch_type_error(operation, "an operation")
        for member in ("op", "path", "from"):
            if not isinstance(operation.get(member, ""), str):
                raise patch_type_error(operation[member], f"the text of {member!r}")
    return operations


def _read_operation(operation: JsonObject) -> Operation:
    for member in ("op", "path"):
        if member not in operation:
            raise InapplicableError(f"an operation has no {member!r}")
    name = operation["op"]
    if name not in _OPERATIONS:
        raise InapplicableError(f"unknown operation {name!r}")
    source: Pointer = []
    if name in ("move", "copy"):
        if "from" not in operation:
            raise InapplicableError(f"missing member 'from' in {name}")
        source = parse_pointer(operation["from"])
    return Operation(name, parse_pointer(operation["path"]), source, operation.get("value"))


def parse_pointer(text: str) -> Pointer:
    """Split a JSON pointer into unescaped steps; raise InapplicableError if the pointer is invalid."""
    if not text:
        return []
    if not text.startswith("/"):
        raise InapplicableError(f"{text!r} is not a JSON pointer")
    steps = text[1:].split("/")
    if len(steps) > DEEPEST_POINTER:
        raise InapplicableError(f"a pointer with {len(steps)} steps is too deep")
    return [step.replace("~1", "/").replace("~0", "~") for step in steps] if "~" in text else steps


class _Draft:
    """An object being changed; containers that are shared with the inputs are copied before they change."""

    def __init__(self, tree: Any) -> None:
        self.root = tree
        # Containers by id(); the references prevent the ids from being reused.
        self._own: dict[int, Any] = {}
        self._copied_bytes = 0

    def perform_all(self, operations: list[JsonObject]) -> JsonObject:
        for tree in operations:
            operation = _read_operation(tree)
            _OPERATIONS[operation.name](self, operation)
        if not isinstance(self.root, dict):
            raise InapplicableError("the result is not an object")
        return self.root

    def add(self, operation: Operation) -> None:
        self._add(operation.target, operation.value)

    def remove(self, operation: Operation) -> None:
        self._remove(operation.target)

    def replace(self, operation: Operation) -> None:
        if not operation.target:
            self.root = operation.value
            return
        container, step = self._open(operation.target), operation.target[-1]
        container[step if isinstance(container, dict) else _get_key(container, step)] = operation.value

    def move(self, operation: Operation) -> None:
        value = self._read(operation.source)
        if operation.source == operation.target:
            return
        if operation.target[: len(operation.source)] == operation.source:
            raise InapplicableError("a value cannot be moved into itself")
        self._remove(operation.source)
        self._add(operation.target, value)

    def copy(self, operation: Operation) -> None:
        data = msgspec.json.encode(self._find(operation.source))
        self._copied_bytes += len(data)
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise InapplicableError(f"the operations copy more than {MAX_COPIED_BYTES} bytes")
        self._add(operation.target, msgspec.json.decode(data))

    def test(self, operation: Operation) -> None:
        if not is_equal(self._find(operation.target), operation.value):
            raise InapplicableError(f"the value at {operation.target} is different")

    def _add(self, target: Pointer, value: object) -> None:
        if not target:
            raise InapplicableError("the whole object cannot be replaced by add")
        container = self._open(target)
        if isinstance(container, list):
            container.insert(_get_insert_index(container, target[-1]), value)
        else:
            container[target[-1]] = value

    def _remove(self, target: Pointer) -> None:
        if not target:
            raise InapplicableError("the whole object cannot be removed")
        container = self._open(target)
        del container[_get_key(container, target[-1])]

    def _find(self, pointer: Pointer) -> Any:
        """Return the value at a pointer, or None if an object does not have the last member."""
        try:
            return self._read(pointer)
        except _MissingMemberError:
            return None

    def _read(self, pointer: Pointer) -> Any:
        value = self.root
        for depth, step in enumerate(pointer):
            if isinstance(value, dict) and step not in value and depth == len(pointer) - 1:
                raise _MissingMemberError(step)
            value = value[_get_key(value, step)]
        return value

    def _open(self, target: Pointer) -> Any:
        """Return the parent of the target as a copy that can be changed."""
        container = self.root = self._owned(self.root)
        for step in target[:-1]:
            place = _get_key(container, step)
            inner = container[place] = self._owned(container[place])
            container = inner
        return container

    def _owned(self, container: Any) -> Any:
        if id(container) in self._own:
            return container
        if not isinstance(container, dict | list):
            raise InapplicableError("a scalar has no members")
        mine = container.copy()
        self._own[id(mine)] = mine
        return mine


class _MissingMemberError(InapplicableError):
    """An object does not have the requested member."""


_OPERATIONS: Final[dict[str, Callable[[_Draft, Operation], None]]] = {
    "add": _Draft.add,
    "remove": _Draft.remove,
    "replace": _Draft.replace,
    "move": _Draft.move,
    "copy": _Draft.copy,
    "test": _Draft.test,
}


def _get_key(container: Any, step: str) -> Any:
    """Return the key or index of the existing value that a pointer step refers to."""
    if isinstance(container, dict):
        if step in container:
            return step
    elif isinstance(container, list) and _INDEX.fullmatch(step) and -len(container) <= int(step) < len(container):
        return int(step)
    raise InapplicableError(f"no value at {step!r}")


def _get_insert_index(container: list[Any], step: str) -> int:
    """Return the index at which to insert into a list; the step `-` is the end of the list."""
    if step == "-":
        return len(container)
    if not _INDEX.fullmatch(step):
        raise InapplicableError(f"{step!r} is not an index")
    index = int(step)
    if index < 0:
        index += len(container) + 1
    if not 0 <= index <= len(container):
        raise InapplicableError(f"index {step!r} is out of range")
    return index


def is_equal(one: Any, other: Any) -> bool:
    """Return True if two JSON values are equal; 1 equals 1.0, but not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_equal, one, other))
    return bool(one == other)

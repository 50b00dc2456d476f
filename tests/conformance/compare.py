"""
Compare a result with the recorded one: structure and values must match, message texts need not.

Go omits zero values that mean "not set", but always writes some structs; unset and empty values are equal here.
"""

from collections.abc import Iterator
from typing import Any

_SENTENCES = {"error", "message"}
_MAPS = {"annotations", "labels", "limits", "nodeSelector", "requests"}
_ALWAYS_WRITTEN = {"acpi", "devices", "metadata", "resources", "status"}
_DEFAULT_KINDS = ("virtualmachineclusterinstancetype", "virtualmachineclusterpreference")


def compare(want: Any, got: Any, path: str = "") -> Iterator[str]:
    """Yield every difference between the result and the recorded one."""
    if path == "" and "panic" in want:  # the recorded program crashed; any result is accepted
        return
    if path == "" and want.get("goText"):  # decoder messages differ: only the rejection is compared
        if not got.get("error") and got.get("allowed") is not False:
            yield "a refusal was expected"
        return
    match want, got:
        case dict(), dict():
            for key in sorted(want.keys() | got.keys()):
                yield from _compare_member(key, want.get(key), got.get(key), f"{path}.{key}")
        case list(), list() if len(want) == len(got):
            for index, (one, other) in enumerate(zip(want, got, strict=True)):
                yield from compare(one, other, f"{path}[{index}]")
        case _ if want != got or isinstance(want, bool) != isinstance(got, bool):
            yield f"{path}: expected {want!r}, got {got!r}"


def _compare_member(key: str, want: Any, got: Any, path: str) -> Iterator[str]:
    if key in _SENTENCES:
        want, got = bool(want), bool(got)
    if _is_unset(key, want) and _is_unset(key, got):
        return
    if key == "kind" and want is None and got in _DEFAULT_KINDS:
        return
    yield from compare(want, got, path)


def _is_unset(key: str, value: Any) -> bool:
    if value == {}:
        return key in _ALWAYS_WRITTEN or key in _MAPS
    return value is None or value in ("", 0, [])

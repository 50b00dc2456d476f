"""
Details of a JSON text for error messages: syntax errors, duplicate keys and positions of keys.

Only the check for duplicate keys is also used for valid input.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from virtshape.api.fielderror import FieldError
from virtshape.api.path import Part, format_path
from virtshape.api.problems import build_problem

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as a list of pairs, including duplicate keys."""


def explain_syntax(data: bytes | str) -> FieldError:
    """Return an error that states where and why the text is not valid JSON."""
    try:
        json.loads(data, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        message = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        return build_problem("", f"invalid JSON at line {error.lineno}, column {error.colno}: {message}", "syntax")
    except UnicodeDecodeError as error:
        return build_problem("", f"the text is not UTF-8: byte {error.start + 1} is invalid", "syntax")
    except RecursionError:
        return build_problem("", "the text is nested too deeply", "syntax")
    except ValueError as error:
        return build_problem("", f"invalid JSON: {error}", "syntax")
    return build_problem("", "invalid JSON: a string contains an unpaired surrogate", "syntax")


def find_duplicate_keys(data: bytes | str) -> list[str]:
    """Return the paths of all duplicate keys; the text must be valid JSON."""
    duplicates: dict[str, None] = {}
    open_values: list[tuple[Any, tuple[Part, ...]]] = [(json.loads(data, object_pairs_hook=_Pairs), ())]
    while open_values:
        value, at = open_values.pop()
        if isinstance(value, _Pairs):
            seen = set()
            for key, _ in value:
                if key in seen:
                    duplicates[format_path((*at, key))] = None
                seen.add(key)
            open_values += [(item, (*at, key)) for key, item in reversed(value) if isinstance(item, list)]
        elif isinstance(value, list):
            items = list(enumerate(value))
            open_values += [(item, (*at, index)) for index, item in reversed(items) if isinstance(item, list)]
    return list(duplicates)


def scan_keys(text: str) -> Iterator[tuple[tuple[Part, ...], int]]:
    """Yield the path and offset of every key and list item in a JSON text."""
    path: list[Part] = []
    awaits_key = False
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "}" | "]":
                path.pop()
                awaits_key = False  # needed after an empty object, in which no key follows "{"
            case "," if isinstance(path[-1], int):
                path[-1] += 1
            case ",":
                awaits_key = True
            case ":":
                awaits_key = False
            case word:
                if awaits_key:
                    path[-1] = json.loads(word)
                if awaits_key or (path and isinstance(path[-1], int)):
                    yield tuple(path), token.start()
                if word in "{[":
                    path.append("" if word == "{" else 0)
                    awaits_key = word == "{"


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")

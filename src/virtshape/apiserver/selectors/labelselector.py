"""
Label selectors: parse text or a LabelSelector, and compile predicates on labels.

Error messages are those of Kubernetes.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, NoReturn

from virtshape.api.status import StatusError
from virtshape.api.validation.names import check_label_value, check_qualified_name
from virtshape.api.validation.violation import show_value

Labels = Mapping[str, str]
Predicate = Callable[[Labels], bool]

# `findall` skips spaces. An expression that matches them itself takes quadratic time for spaces without a token.
_TOKEN: Final = re.compile(r"(==|!=|[=!<>(),])|([^\s=!<>(),]+)")
_SYMBOLS: Final = frozenset({"==", "!=", "=", "!", "<", ">", "(", ")", ","})
_BINARY: Final = {"=": "=", "==": "=", "!=": "notin", "in": "in", "notin": "notin", ">": "gt", "<": "lt"}
_EXPRESSIONS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_END: Final = ""


class Requirement(NamedTuple):
    """A requirement on one label; the operator is `=`, `in`, `notin`, `exists`, `!`, `gt` or `lt`."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()


def parse_label_selector(text: str) -> tuple[Requirement, ...]:
    """Return the requirements of a selector; raise StatusError 400 if the selector is invalid."""
    return _Parser(text).parse() if text.strip() else ()


def compile_requirements(requirements: Iterable[Requirement]) -> Predicate:
    """Return a predicate that is true if labels meet all requirements."""
    tests = [_compile(requirement) for requirement in requirements]
    match tests:
        case []:
            return lambda labels: True  # noqa: ARG005 -- matches all labels
        case [only]:
            return only
        case _:
            return lambda labels: all(test(labels) for test in tests)


def compile_label_selector(text: str) -> Predicate:
    """Return the predicate of a selector; an empty selector matches all labels."""
    return compile_requirements(parse_label_selector(text))


def read_selector(selector: Mapping[str, Any]) -> tuple[Requirement, ...]:
    """Return the requirements of a decoded LabelSelector; raise StatusError 400 if the selector is invalid."""
    requirements = [
        Requirement(key, "=", frozenset({value})) for key, value in (selector.get("matchLabels") or {}).items()
    ]
    for expression in selector.get("matchExpressions") or ():
        operator = _EXPRESSIONS.get(expression.get("operator"))
        if operator is None:
            _refuse(f"{show_value(expression.get('operator'))} is not a valid label selector operator")
        values = frozenset(expression.get("values") or ())
        requirements.append(Requirement(expression.get("key", ""), operator, values))
    for requirement in requirements:
        _validate(requirement)
    return tuple(requirements)


def _compile(requirement: Requirement) -> Predicate:
    key, operator, values = requirement
    match operator:
        case "=":
            (value,) = values
            return lambda labels: labels.get(key) == value
        case "in":
            return lambda labels: labels.get(key) in values
        case "notin":
            return lambda labels: labels.get(key) not in values
        case "exists":
            return lambda labels: key in labels
        case "!":
            return lambda labels: key not in labels
        case _:
            (bound,) = map(int, values)
            above = operator == "gt"
            return lambda labels: _compare(labels.get(key), bound, above=above)


def _compare(value: str | None, bound: int, *, above: bool) -> bool:
    number = _read_integer(value or "")
    if number is None:
        return False
    return number > bound if above else number < bound


def _read_integer(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,19}", text) else None


def _validate(requirement: Requirement) -> None:
    key, operator, values = requirement
    if problems := check_qualified_name(key):
        _refuse(f"<nil>: Invalid value: {show_value(key)}: {'; '.join(problems)}")
    listed = sorted(values)
    if operator in ("in", "notin") and not values:
        _refuse("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")
    if operator in ("exists", "!") and values:
        _refuse(f"values: Invalid value: {show_value(listed)}: values set must be empty for exists and does not exist")
    if operator in ("gt", "lt") and _read_integer(listed[0]) is None:
        message = "for 'Gt', 'Lt' operators, the value must be an integer"
        _refuse(f"values[0]: Invalid value: {show_value(listed[0])}: {message}")
    for index, value in enumerate(listed):
        if problems := check_label_value(value):
            _refuse(f"values[{index}][{key}]: Invalid value: {show_value(value)}: {'; '.join(problems)}")


def _refuse(message: str) -> NoReturn:
    raise StatusError(400, "BadRequest", f"unable to parse requirement: {message}")


class _Parser:
    """Parses a selector from left to right, with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self._tokens = [symbol or word for symbol, word in _TOKEN.findall(text)]
        self._at = 0

    def parse(self) -> tuple[Requirement, ...]:
        requirements = []
        while self._next != _END:
            if self._next in _SYMBOLS and self._next != "!":
                self._complain(f"found '{self._next}', expected: !, identifier, or 'end of string'")
            requirements.append(self._read_requirement())
            match self._take():
                case ",":
                    if self._next == _END or (self._next in _SYMBOLS and self._next != "!"):
                        self._complain(f"found '{self._next}', expected: identifier after ','")
                case "":
                    break
                case other:
                    self._complain(f"found '{other}', expected: ',' or 'end of string'")
        return tuple(requirements)

    @property
    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    def _take(self) -> str:
        token = self._next
        self._at += 1
        return token

    def _complain(self, message: str) -> NoReturn:
        raise StatusError(400, "BadRequest", message)

    def _read_requirement(self) -> Requirement:
        negated = self._next == "!"
        if negated:
            self._take()
        key = self._take()
        if key == _END or key in _SYMBOLS:
            _refuse(f"found '{key}', expected: identifier")
        requirement = Requirement(key, "!" if negated else "exists")
        _validate(requirement)
        if not negated and self._next not in (_END, ","):
            requirement = self._read_comparison(key)
            _validate(requirement)
        return requirement

    def _read_comparison(self, key: str) -> Requirement:
        token = self._take()
        if token not in _BINARY:
            _refuse(f"found '{token}', expected: in, notin, =, ==, !=, gt, lt")
        operator = _BINARY[token]
        return Requirement(key, operator, self._read_set() if token in ("in", "notin") else self._read_value())

    def _read_value(self) -> frozenset[str]:
        if self._next in (_END, ","):
            return frozenset({""})
        value = self._take()
        if value in _SYMBOLS:
            _refuse(f"found '{value}', expected: identifier")
        return frozenset({value})

    def _read_set(self) -> frozenset[str]:
        """Return the values in parentheses; an omitted value is the empty string."""
        opening = self._take()
        if opening != "(":
            _refuse(f"found '{opening}' expected: '('")
        values = []
        while True:
            value = "" if self._next in (",", ")") else self._take()
            if value in _SYMBOLS or (value == _END and self._next not in (",", ")")):
                _refuse(f"found '{value}', expected: ',', ')' or identifier")
            values.append(value)
            separator = self._take()
            if separator == ")":
                return frozenset(values)
            if separator != ",":
                _refuse(f"found '{separator}', expected: ',' or ')'")

"""
Field selectors such as `metadata.name=x,status.phase!=Running`, compiled to predicates on objects.

All kinds support name and namespace; a few kinds support more fields.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from virtshape.api.kinds import Kind, is_custom_resource
from virtshape.api.status import StatusError
from virtshape.api.validation.violation import show_value

ObjectPredicate = Callable[[Mapping[str, Any]], bool]
Reader = Callable[[Mapping[str, Any]], str]

NAME: Final = "metadata.name"
NAMESPACE: Final = "metadata.namespace"

_TERM: Final = re.compile(r"((?:\\.|\\$|[^\\,])*)(?:,|$)", re.DOTALL)
_OPERATOR: Final = re.compile(r"!=|==|=")
_ESCAPE: Final = re.compile(r"\\(.?)", re.DOTALL)


class Term(NamedTuple):
    """A comparison of one field: equal or not equal to a value."""

    field: str
    equal: bool
    value: str


def parse_field_selector(text: str, kind: Kind) -> tuple[Term, ...]:
    """Return the terms of a selector; raise StatusError 400 if the selector is invalid or a field is not supported."""
    readers = _list_readers(kind)
    terms = []
    for message in _TERM.findall(text):
        if not message:
            continue
        operator = _OPERATOR.search(message)
        if operator is None:
            raise _refuse(f"invalid selector: '{text}'; can't understand '{message}'")
        field = _ALIASES.get(message[: operator.start()], message[: operator.start()])
        if field not in readers:
            raise _refuse(_word_unsupported(field, kind))
        terms.append(Term(field, operator[0] != "!=", _unescape(message[operator.end() :])))
    return tuple(terms)


def compile_terms(terms: Iterable[Term], kind: Kind) -> ObjectPredicate:
    """Return a predicate that is true if all terms match."""
    readers = _list_readers(kind)
    tests = [(readers[term.field], term.equal, term.value) for term in terms]
    return lambda tree: all((read(tree) == value) is equal for read, equal, value in tests)


def _refuse(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def _word_unsupported(field: str, kind: Kind) -> str:
    if (kind.group, kind.kind) in _READERS or is_custom_resource(kind):
        return f"field label not supported: {field}"
    return f'{show_value(field)} is not a known field selector: only "{NAME}", "{NAMESPACE}"'


def _unescape(text: str) -> str:
    """Return a value with its backslash escapes resolved."""
    if unescaped := re.search(r"=", _ESCAPE.sub("", text)):
        raise _refuse(f"invalid field selector: unescaped character in value: {unescaped[0]}")
    if broken := next((match for match in _ESCAPE.finditer(text) if match[1] not in (",", "=", "\\")), None):
        raise _refuse(f"invalid field selector: invalid escape sequence: {broken[0]}")
    return _ESCAPE.sub(r"\1", text)


def _read_path(path: str) -> Reader:
    steps = path.split(".")

    def read(tree: Mapping[str, Any]) -> str:
        value: Any = tree
        for step in steps:
            value = value.get(step)
            if value is None:
                return ""
        return value if isinstance(value, str) else show_value(value)

    return read


def _read_flag(path: str) -> Reader:
    read = _read_path(path)
    return lambda tree: read(tree) or "false"


def _read_source(tree: Mapping[str, Any]) -> str:
    """Return the component that reported an event, from `source.component` or else `reportingComponent`."""
    return (tree.get("source") or {}).get("component") or tree.get("reportingComponent") or ""


def _read_pod_ip(tree: Mapping[str, Any]) -> str:
    status = tree.get("status") or {}
    addresses = status.get("podIPs") or [{}]
    return addresses[0].get("ip") or status.get("podIP") or ""


def _list_readers(kind: Kind) -> dict[str, Reader]:
    return _READERS.get((kind.group, kind.kind), _METADATA)


_ALIASES: Final = {"spec.host": "spec.nodeName"}
_METADATA: Final[dict[str, Reader]] = {path: _read_path(path) for path in (NAME, NAMESPACE)}
_READERS: Final[dict[tuple[str, str], dict[str, Reader]]] = {
    ("", "Event"): {
        **_METADATA,
        **{
            path: _read_path(path)
            for path in (
                "involvedObject.apiVersion",
                "involvedObject.fieldPath",
                "involvedObject.kind",
                "involvedObject.name",
                "involvedObject.namespace",
                "involvedObject.resourceVersion",
                "involvedObject.uid",
                "reason",
                "reportingComponent",
                "type",
            )
        },
        "source": _read_source,
    },
    ("", "Namespace"): {**_METADATA, "status.phase": _read_path("status.phase")},
    ("", "Node"): {**_METADATA, "spec.unschedulable": _read_flag("spec.unschedulable")},
    ("", "Pod"): {
        **_METADATA,
        **{
            path: _read_path(path)
            for path in (
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.schedulerName",
                "spec.serviceAccountName",
                "status.nominatedNodeName",
                "status.phase",
            )
        },
        "spec.hostNetwork": _read_flag("spec.hostNetwork"),
        "status.podIP": _read_pod_ip,
        "status.podIPs": _read_pod_ip,
    },
    ("", "Secret"): {**_METADATA, "type": _read_path("type")},
    ("", "Service"): {**_METADATA, **{path: _read_path(path) for path in ("spec.clusterIP", "spec.type")}},
}

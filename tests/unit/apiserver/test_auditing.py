"""Lines of the audit log say what happened, to which object, by whose hand."""

import time
from typing import Any

import msgspec
import pytest

from virtshape.api.codec import encode
from virtshape.api.kinds import find_kind
from virtshape.api.status import StatusError
from virtshape.apiserver.auditing import CLIENT_LEFT, Caller, build_audit_entry
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.route import Route, Verb

BOB = Caller(User("bob", ("dev",)))
CREATED = Response(201, b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"made-x7k2p"}}')
REFUSED = Response(409, encode(StatusError(409, "AlreadyExists", "no").about("", "configmaps", "taken").status))


def describe(
    answer: Response | int = CREATED, *, asker: Caller = BOB, verb: Verb = "create", name: str = "", query: str = ""
) -> dict[str, Any]:
    kind = find_kind("v1", "ConfigMap")
    assert kind is not None
    request = Request("POST", f"/x?{query}", {"user-agent": "kubectl/v1"}, peer="127.0.0.1")
    line = build_audit_entry(request, Route(verb, kind, "prod", name, ""), asker, answer, time.time() - 0.5)
    tree: dict[str, Any] = msgspec.to_builtins(line)
    return tree


def test_a_line_says_who_did_what_and_what_came_of_it() -> None:
    line = describe(name="a", verb="patch", answer=Response(200, b"{}"))
    assert line.pop("time").endswith("Z")
    assert 500 <= line.pop("latencyMs") < 5000
    assert line == {
        "user": "bob",
        "groups": ("dev",),
        "verb": "patch",
        "resource": "configmaps",
        "namespace": "prod",
        "name": "a",
        "code": 200,
        "sourceIp": "127.0.0.1",
        "userAgent": "kubectl/v1",
    }


LINES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a name that the server made": ({}, {"name": "made-x7k2p", "code": 201}),
    "a refusal": ({"answer": REFUSED}, {"name": "taken", "code": 409, "reason": "AlreadyExists"}),
    "a client that left": ({"answer": CLIENT_LEFT, "name": "a"}, {"name": "a", "code": 499}),
    "a dry run": ({"query": "dryRun=All"}, {"dryRun": True}),
    "someone who acts as another": ({"asker": Caller(BOB.user, "admin")}, {"user": "bob", "impersonatedBy": "admin"}),
    "a compressed answer": ({"answer": Response(200, b"\x1f\x8b\x08")}, {"code": 200}),
    "an answer in YAML": ({"answer": Response(201, b"kind: X", "application/yaml")}, {"code": 201}),
    "a long name": ({"name": "x" * 9000}, {"name": "x" * 511 + "…"}),
}


@pytest.mark.parametrize(("write", "facts"), LINES.values(), ids=LINES.keys())
def test_a_line_has_the_facts_of(write: dict[str, Any], facts: dict[str, Any]) -> None:
    line = describe(**write)
    assert {key: line.get(key) for key in facts} == facts

"""Clients that read, create, update and delete the same few objects, and the checker of what they recorded."""

import json
import random
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from msgspec import Struct, to_builtins
from tests.robustness.killing import MERGE_PATCH, Session
from tests.support.kubevirt import CACHE
from tests.support.smallmanifests import build_config_map

PATH: Final = "/api/v1/namespaces/default/configmaps"
KEYS: Final = ("a", "b", "c", "d")
KEY_WEIGHTS: Final = (6, 2, 1, 1)
LABEL: Final = "linearizability"
CHECKER_SECONDS: Final = 900.0

Kind = Literal["initial", "list", "get", "create", "update", "delete"]
Outcome = Literal["done", "exists", "missing", "conflict", "lost"]


class StoredObject(Struct):
    """An object in a response."""

    revision: int
    value: str


class Request(Struct, rename={"ended": "return"}):
    """
    A request and its response; `call` and `ended` are monotonic times in ns.

    `expected` is the resourceVersion that the object must have, or 0 if the request has no condition.
    """

    kind: Kind
    key: str = ""
    value: str = ""
    expected: int = 0
    outcome: Outcome = "lost"
    revision: int = 0
    objects: dict[str, StoredObject] = {}
    client: int = 0
    call: int = 0
    ended: int = 0


class CasClient:
    """A client that changes objects with and without the condition that they are at a known resourceVersion."""

    def __init__(self, number: int, generator: random.Random) -> None:
        self._number = number
        self._random = generator
        self._values = 0
        self._known: dict[str, int] = {}  # resourceVersions that the client has seen last
        self.requests: list[Request] = []

    def run(self, session: Session) -> None:
        """Send random requests until a response is lost."""
        kinds: list[Kind] = ["get", "create", "update", "delete", "list"]
        while True:
            (key,) = self._random.choices(KEYS, weights=KEY_WEIGHTS)
            (kind,) = self._random.choices(kinds, weights=[2, 2, 12, 1, 1])
            if kind == "update":
                self._request(session, "get", key)  # so that several clients update from the same version
            self._request(session, kind, key)

    def _request(self, session: Session, kind: Kind, key: str) -> None:
        expected = self._known.get(key, 0) if self._random.random() < 0.8 else 0
        self._values += 1
        value = f"{self._number}-{self._values}" if kind in ("create", "update") else ""
        request = Request(kind, key, value, expected, client=self._number, call=time.monotonic_ns())
        self.requests.append(request)
        self._send(session, request)

    def _send(self, session: Session, request: Request) -> None:
        match request.kind:
            case "list":
                send_list(session, request)
                return
            case "get":
                code, tree = session.request("GET", f"{PATH}/{request.key}")
            case "create":
                code, tree = session.request("POST", PATH, build_object(request))
            case "delete":
                conditions = {"preconditions": {"resourceVersion": str(request.expected)}} if request.expected else {}
                code, tree = session.request("DELETE", f"{PATH}/{request.key}", conditions)
            case _ if self._random.random() < 0.5:
                code, tree = session.request("PUT", f"{PATH}/{request.key}", build_object(request))
            case _:
                code, tree = session.request("PATCH", f"{PATH}/{request.key}", build_object(request), MERGE_PATCH)
        request.ended = time.monotonic_ns()
        request.outcome = get_outcome(request.kind, code, tree)
        if request.outcome == "done" and request.kind != "delete":
            request.revision, request.value = int(tree["metadata"]["resourceVersion"]), tree["data"]["value"]
            self._known[request.key] = request.revision

    def take_requests(self, killed: int) -> list[Request]:
        """
        Return the requests since the last call; those without a response ended when the server was killed.

        Reads without a response, and requests that were sent after the server was killed, are left out.
        """
        taken, self.requests = self.requests, []
        for request in taken:
            request.ended = request.ended or killed
        return [
            request
            for request in taken
            if request.outcome != "lost" or (request.kind not in ("get", "list") and request.call < killed)
        ]


def build_object(request: Request) -> dict[str, Any]:
    """Build the body of a create, update or patch request."""
    tree = build_config_map(request.key, value=request.value)
    tree["metadata"]["labels"] = {LABEL: "true"}
    if request.expected and request.kind == "update":
        tree["metadata"]["resourceVersion"] = str(request.expected)
    return tree


def get_outcome(kind: Kind, code: int, tree: Any) -> Outcome:
    """Return the outcome of a request from its response."""
    match code, tree.get("reason"):
        case ((200 | 201), _):
            return "done"
        case 404, _:
            return "missing"
        case 409, "AlreadyExists":
            return "exists"
        case 409, "Conflict":
            return "conflict"
        case _:
            raise AssertionError(f"{kind}: {code} {tree}")


def send_list(session: Session, request: Request) -> Request:
    """List all objects and complete the request with the response."""
    request.call = request.call or time.monotonic_ns()
    code, tree = session.request("GET", f"{PATH}?labelSelector={LABEL}")
    assert code == 200, tree
    request.ended, request.outcome = time.monotonic_ns(), "done"
    request.revision = int(tree["metadata"]["resourceVersion"])
    for item in tree["items"]:
        stored = StoredObject(int(item["metadata"]["resourceVersion"]), item["data"]["value"])
        request.objects[item["metadata"]["name"]] = stored
    return request


def find_checker() -> Path:
    """Return the program of tests/linearizability; skip the test if it was not built."""
    built = sorted(CACHE.glob("linearizability-*"), key=lambda path: path.stat().st_mtime)
    if built:
        return built[-1]
    pytest.skip("the linearizability checker is missing: tools/linearizability/build.sh builds it with Go")


def format_history(requests: Sequence[Request]) -> str:
    """Return the requests as the checker reads them, as JSON lines."""
    return "".join(f"{json.dumps(to_builtins(request))}\n" for request in requests)


def check_history(requests: Sequence[Request]) -> dict[str, Any]:
    """Return the checker's report on a history; `result` is Ok, Illegal or, after a time limit, Unknown."""
    lines = format_history(requests)
    checked = subprocess.run(
        [find_checker()], input=lines, capture_output=True, text=True, check=True, timeout=CHECKER_SECONDS
    )
    report: dict[str, Any] = json.loads(checked.stdout)
    return report

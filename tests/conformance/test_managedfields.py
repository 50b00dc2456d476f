"""managedFields after a write match those of a real API server."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from virtshape.api.kinds import Kind, find_resource
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.managedfields.fieldtypes import object_type
from virtshape.apiserver.managedfields.managedfields import FieldManager, entries_of, name_manager, record_update
from virtshape.apiserver.managedfields.serversideapply import apply, find_undeclared, validate_apply_body

_PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>v[^/]+)(?:/namespaces/[^/]+)?/(?P<plural>[a-z]+)(?P<rest>/.*)?"
)
_SERVER_SET = ("creationTimestamp", "generation", "managedFields", "namespace", "resourceVersion", "uid")
_AGENT = "wire-recorder/1.0"
FOLDER = os.environ.get("VIRTSHAPE_WIRE")
FILES = sorted(Path(FOLDER).glob("*.json")) if FOLDER else [Path("recordings")]


@pytest.fixture(autouse=True)
def _recordings() -> None:
    if FOLDER is None:
        pytest.skip("VIRTSHAPE_WIRE is not the path of a folder with recordings")


class Exchange:
    """A recorded request and its response."""

    def __init__(self, request: JsonObject, response: JsonObject) -> None:
        self.method: str = request["method"]
        self.query = dict(request.get("query") or ())
        self.body: Any = request.get("body")
        self.answer: JsonObject = response["body"]
        self.status: int = response["status"]
        self.path: str = request["path"]
        self.type: str = next((v for k, v in (request.get("headers") or {}).items() if k.lower() == "content-type"), "")
        match = _PATH.fullmatch(self.path)
        self.kind = find_resource(match["group"] or "", match["version"], match["plural"]) if match else None
        self.subresource = "status" if self.path.endswith("/status") else ""

    @property
    def applies(self) -> bool:
        return "apply-patch" in self.type or (self.method == "PATCH" and "force" in self.query and "kind" in self.body)

    @property
    def write(self) -> FieldManager:
        assert self.kind is not None
        manager = name_manager(self.query.get("fieldManager", ""), _AGENT)
        return FieldManager(manager, self.kind.api_version, "<time>", self.subresource)


def exchanges(path: Path) -> Iterator[Exchange]:
    for step in json.loads(path.read_text())["steps"]:
        pairs = [step] if step["op"] == "request" else step.get("http", [])
        for pair in pairs:
            if isinstance(pair.get("response", {}).get("body"), dict):
                yield Exchange(pair["request"], pair["response"])


def writes(path: Path) -> Iterator[tuple[Exchange, JsonObject | None]]:
    """Yield each successful write with the object before it."""
    known: dict[tuple[str, str], JsonObject] = {}
    for exchange in exchanges(path):
        metadata = exchange.answer.get("metadata") or {}
        if exchange.kind is None or exchange.answer.get("kind") != exchange.kind.kind or "name" not in metadata:
            continue
        key = (exchange.kind.plural, metadata["name"])
        if exchange.method in ("POST", "PUT", "PATCH") and not exchange.path.endswith("/finalize"):
            yield exchange, known.get(key)
        if "dryRun" not in exchange.query:
            known[key] = exchange.answer


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_managed_fields_after_a_write_match_the_recording(path: Path) -> None:
    for exchange, old in writes(path):
        if not exchange.applies:
            assert exchange.kind is not None
            new = _written(exchange)
            entries = record_update(old, new, exchange.write, object_type(exchange.kind))
            assert _comparable(entries) == _comparable(entries_of(exchange.answer)), exchange.path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_object_after_an_apply_matches_the_recording(path: Path) -> None:
    for exchange, old in writes(path):
        if exchange.applies:
            assert exchange.kind is not None
            force = exchange.query.get("force") == "true"
            result = apply(old, exchange.body, exchange.write, object_type(exchange.kind), force=force)
            assert _comparable(entries_of(result)) == _comparable(entries_of(exchange.answer)), exchange.path
            if ".kv" not in path.stem:
                assert _without_server_fields(result) == _without_server_fields(exchange.answer), exchange.path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_apply_conflict_has_the_recorded_message(path: Path) -> None:
    known: dict[str, JsonObject] = {}
    for exchange in exchanges(path):
        if exchange.kind is None:
            continue
        if exchange.answer.get("kind") == exchange.kind.kind:
            known[exchange.path] = exchange.answer
        elif exchange.applies and isinstance(exchange.body, dict) and "fieldManager" in exchange.query:
            refusal = _refusal(exchange, exchange.kind, known.get(exchange.path))
            if refusal is None:
                assert "URL" in exchange.answer["message"] or "modified" in exchange.answer["message"]
                continue
            assert (refusal.code, refusal.message) == (exchange.status, exchange.answer["message"])
            causes = {
                (c["reason"], c["message"], c["field"]) for c in exchange.answer.get("details", {}).get("causes", ())
            }
            assert {(cause.reason, cause.message, cause.field) for cause in refusal.causes} == causes


def _written(exchange: Exchange) -> JsonObject:
    """Return the object that the request writes, as it is before admission."""
    new: JsonObject | None = exchange.body
    if exchange.method == "PATCH" or new is None:
        new = exchange.answer
    elif exchange.method == "POST":
        new = _known_fields(new, exchange.answer)
    metadata = {name: value for name, value in new["metadata"].items() if name != "managedFields"}
    if exchange.kind is not None and exchange.kind.kind == "Namespace":
        metadata["labels"] = exchange.answer["metadata"]["labels"]
    return new | {"metadata": metadata}


def _known_fields(body: Any, answer: Any) -> Any:
    if not isinstance(body, dict) or not isinstance(answer, dict):
        return body
    return {name: _known_fields(value, answer[name]) for name, value in body.items() if name in answer}


def _refusal(exchange: Exchange, kind: Kind, live: JsonObject | None) -> StatusError | None:
    try:
        validate_apply_body(exchange.body, kind)
        apply(live, exchange.body, exchange.write, object_type(kind), force=exchange.query.get("force") == "true")
    except StatusError as error:
        return error
    return find_undeclared(exchange.body, kind)


def _comparable(entries: list[JsonObject]) -> list[JsonObject]:
    untimed = [{name: value for name, value in entry.items() if name != "time"} for entry in entries]
    return sorted(untimed, key=lambda entry: (entry["manager"], entry["operation"], entry.get("subresource", "")))


def _without_server_fields(tree: JsonObject) -> JsonObject:
    metadata = {name: value for name, value in tree["metadata"].items() if name not in _SERVER_SET}
    return {**tree, "metadata": metadata}

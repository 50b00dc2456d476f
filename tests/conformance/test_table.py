"""Tables and partial objects match those of a real Kubernetes API server."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from virtshape.api.kinds import Kind, find_resource
from virtshape.api.model import JsonObject
from virtshape.apiserver.encoding.partial import partial_list, partial_object
from virtshape.apiserver.encoding.table import render_table

FOLDER = os.environ.get("VIRTSHAPE_WIRE")
VM = find_resource("kubevirt.io", "v1", "virtualmachines")
NAMESPACE = find_resource("", "v1", "namespaces")


@pytest.fixture(autouse=True)
def _recordings() -> None:
    if FOLDER is None:
        pytest.skip("VIRTSHAPE_WIRE is not the path of a folder with recordings")


def read_answers(name: str) -> Iterator[JsonObject]:
    """Yield the response bodies of a recording in order."""
    for step in json.loads(Path(FOLDER or "", f"{name}.json").read_text())["steps"]:
        for exchange in step.get("http", [step]):
            if isinstance(body := exchange.get("response", {}).get("body"), dict):
                yield body


def drop_messages(table: JsonObject) -> JsonObject:
    """Return the table without column descriptions."""
    columns = [
        {key: value for key, value in column.items() if key != "description"} for column in table["columnDefinitions"]
    ]
    return table | {"columnDefinitions": columns}


def render(kind: Kind | None, tree: JsonObject, revision: str) -> JsonObject:
    assert kind is not None
    table = json.loads(render_table(kind, [json.dumps(tree).encode()], revision))
    for row in table["rows"]:
        row["cells"] = ["<age>" if cell == "<invalid>" else cell for cell in row["cells"]]
    return drop_messages(table)


def test_table_of_namespaces_matches_the_recording() -> None:
    created, table, *_ = read_answers("namespaces-core")
    assert render(NAMESPACE, created, "<listrv:1>") == drop_messages(table)


def test_table_of_vms_starts_with_the_recorded_columns() -> None:
    answers = list(read_answers("kv-kubectl"))
    recorded = drop_messages(next(answer for answer in answers if answer["kind"] == "Table"))
    (row,) = recorded["rows"]
    ours = render(VM, {"metadata": row["object"]["metadata"]}, "<listrv:1>")
    count = len(recorded["columnDefinitions"])
    assert ours["columnDefinitions"][:count] == recorded["columnDefinitions"]
    assert all(column["priority"] == 1 for column in ours["columnDefinitions"][count:])
    assert ours["rows"][0]["cells"][:count] == row["cells"]
    assert ours["rows"][0]["object"] == row["object"]


def test_partial_objects_match_the_recording() -> None:
    created, partial, listed, *_ = read_answers("partial-metadata")
    data = json.dumps(created).encode()
    assert json.loads(partial_object(data)) == partial
    assert json.loads(partial_list([data], listed["metadata"])) == listed

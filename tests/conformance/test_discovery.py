"""Discovery documents match those of a real Kubernetes API server for all common kinds."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from virtshape.api.model import JsonObject
from virtshape.apiserver.discovery import aggregated
from virtshape.apiserver.discovery.discovery import write_discovery
from virtshape.apiserver.discovery.document import Document
from virtshape.apiserver.discovery.health import ENDPOINTS, list_health_paths
from virtshape.apiserver.discovery.version import write_root
from virtshape.apiserver.openapi.documents import write_v2, write_v3_index

FOLDER = os.environ.get("VIRTSHAPE_WIRE")
AGGREGATED = f"as={aggregated.KIND}"

# KubeVirt kinds that virtshape does not have.
LEFT_OUT = {
    "virtualmachineinstancemigrations",
    "virtualmachineinstancepresets",
    "virtualmachineinstancereplicasets",
}
# Fields that are not compared: descriptions, and values that differ between servers.
NOT_COMPARED = {"description", "storageVersionHash"}


@pytest.fixture(autouse=True)
def _recordings() -> None:
    if FOLDER is None:
        pytest.skip("VIRTSHAPE_WIRE is not the path of a folder with recordings")


def list_exchanges() -> Iterator[Any]:
    """Yield the recorded requests whose response is a discovery document."""
    for path in sorted(Path(FOLDER).glob("*discovery*.json")) if FOLDER else []:
        for number, step in enumerate(json.loads(path.read_text())["steps"]):
            if step["request"]["path"].removeprefix("/") not in ENDPOINTS and step["response"]["status"] == 200:
                yield pytest.param(step, id=f"{path.stem} step {number}")


def find_document(path: str, accept: str) -> Document:
    plain = write_discovery("127.0.0.1:6443")
    if AGGREGATED in accept and f"v={aggregated.VERSION};" in accept:
        return aggregated.write_aggregated_discovery()[path]
    others = [
        "/openapi/v2",
        "/openapi/v3",
        "/version",
        *(path for endpoint in ENDPOINTS for path in list_health_paths(endpoint, ["ping"])),
    ]
    match path:
        case "/":
            return write_root([*plain, *others])
        case "/openapi/v2":
            return write_v2()
        case "/openapi/v3":
            return write_v3_index()
        case _:
            return plain[path]


def find_missing(expected: Any, actual: Any, place: str = "") -> Iterator[str]:
    """Yield a message for each part of `expected` that `actual` does not have; lists may be in any order."""
    match expected, actual:
        case dict(), dict():
            for key in expected.keys() - NOT_COMPARED:
                if key not in actual:
                    yield f"{place}.{key} is missing"
                else:
                    yield from find_missing(expected[key], actual[key], f"{place}.{key}")
        case list(), list():
            for element in expected:
                if is_left_out(element) or any(not list(find_missing(element, other)) for other in actual):
                    continue
                twin = find_counterpart(element, actual)
                yield from find_missing(element, twin, f"{place}[{identify(element)}]")
        case _:
            if expected != actual:
                yield f"{place} is {actual!r}, not {expected!r}"


def identify(element: Any) -> Any:
    """Return the key that identifies a list element."""
    if isinstance(element, dict):
        named = element.get("metadata", element)
        return next((named[key] for key in ("name", "resource", "version", "groupVersion") if key in named), None)
    return element


def find_counterpart(element: Any, others: list[Any]) -> Any:
    return next((other for other in others if identify(other) == identify(element)), None)


def is_left_out(element: Any) -> bool:
    return isinstance(element, dict) and str(identify(element)).partition("/")[0] in LEFT_OUT


@pytest.mark.parametrize("step", list(list_exchanges()))
def test_discovery_documents_contain_the_recorded_ones(step: JsonObject) -> None:
    accept = step["request"].get("headers", {}).get("Accept", "")
    document = find_document(step["request"]["path"], accept)
    assert list(find_missing(step["response"]["body"], json.loads(document.body))) == []
    assert document.content_type == step["response"]["headers"]["content-type"]


def test_order_of_verbs_in_discovery_matches_the_recording() -> None:
    assert FOLDER is not None
    recorded = json.loads(Path(FOLDER, "discovery-gv-instancetype.json").read_text())["steps"][0]
    document = find_document(recorded["request"]["path"], "")
    verbs = {resource["name"]: resource["verbs"] for resource in json.loads(document.body)["resources"]}
    assert verbs == {resource["name"]: resource["verbs"] for resource in recorded["response"]["body"]["resources"]}

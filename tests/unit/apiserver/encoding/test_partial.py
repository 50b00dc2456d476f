"""Partial objects contain the complete metadata and nothing else."""

import json
from typing import Any

import pytest

from virtshape.apiserver.encoding.partial import partial_list, partial_object

METADATA: dict[str, Any] = {"name": "one", "labels": {"metadata": "x"}, "managedFields": [{"fieldsV1": {"f:spec": {}}}]}
OBJECT = json.dumps(
    {"apiVersion": "v1", "kind": "Secret", "metadata": METADATA, "data": {"metadata": "eA=="}}, indent=1
).encode()


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_partial_object_has_only_the_metadata(version: str) -> None:
    assert json.loads(partial_object(OBJECT, version)) == {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": METADATA,
    }


def test_partial_object_without_metadata_has_empty_metadata() -> None:
    assert json.loads(partial_object(b"{}"))["metadata"] == {}


@pytest.mark.parametrize("count", [0, 1, 2])
def test_partial_list_has_one_item_per_object(count: int) -> None:
    metadata = {"resourceVersion": "5", "continue": "abc"}
    assert json.loads(partial_list([OBJECT] * count, metadata)) == {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "items": [json.loads(partial_object(OBJECT))] * count,
    }

"""Discovery documents: stored compressed if they are large, and returned unchanged."""

import gzip

import pytest

from virtshape.apiserver.discovery.document import make_document, make_json_document


@pytest.mark.parametrize("body", [b"", b"short", b"long " * 10_000], ids=["empty", "short", "long"])
def test_discovery_document_returns_its_original_content(body: bytes) -> None:
    assert make_document(body).body == body


def test_large_discovery_document_is_compressed() -> None:
    document = make_document(b"long " * 10_000)
    assert document.is_compressed
    assert gzip.decompress(document.content) == b"long " * 10_000


def test_etag_of_a_discovery_document_depends_on_its_content() -> None:
    assert make_document(b"a").etag == make_document(b"a").etag != make_document(b"b").etag
    assert make_document(b"a", etag='"mine"').etag == '"mine"'


def test_discovery_document_is_encoded_as_json() -> None:
    assert make_json_document({"a": [1]}).body == b'{"a":[1]}'

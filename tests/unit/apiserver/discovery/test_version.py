"""The version document and the list of paths."""

import json
import re

from virtshape.apiserver.discovery.version import write_root, write_version


def test_version_document_has_a_semantic_version() -> None:
    version = json.loads(write_version().body)
    assert re.fullmatch(r"v1\.\d+\.\d+\+virtshape-\d+\.\d+\.\d+\S*", version["gitVersion"])
    assert version["gitVersion"].startswith(f"v{version['major']}.{version['minor']}.")
    assert all(isinstance(value, str) for value in version.values())


def test_root_document_lists_sorted_paths() -> None:
    assert json.loads(write_root(["/version", "/api"]).body) == {"paths": ["/api", "/version"]}

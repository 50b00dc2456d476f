"""The web site of the documentation: MkDocs finds no broken link, and pages load nothing from other sites."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.support.documents import ROOT, list_documents
from tools.site.build import list_versions
from tools.site.hooks import ADDED, rewrite_links


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; MkDocs fails for broken links and anchors, and for pages that are not in the navigation."""
    folder = tmp_path_factory.mktemp("site")
    ran = subprocess.run(
        [sys.executable, "-m", "tools.site.build", folder],
        cwd=ROOT,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},  # MkDocs' own dependencies print warnings
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
    return folder


def test_site_has_a_page_for_every_document(site: Path) -> None:
    documents = [path.relative_to(ROOT / "docs") for path in list_documents() if path.is_relative_to(ROOT / "docs")]
    pages = [*documents, *map(Path, ADDED.values())]
    built = site / version("virtshape")
    missing = [
        str(page)
        for page in pages
        if not (built / page.with_suffix("") / "index.html").exists()
        and not (built / page.parent / "index.html").exists()
    ]
    assert missing == []


def test_search_index_covers_all_parts_of_the_documentation(site: Path) -> None:
    index = json.loads((site / version("virtshape") / "search/search_index.json").read_text())
    places = {each["location"].partition("#")[0] for each in index["docs"]}
    assert {"install/", "tour/", "lint/", "reference/virtualmachine/", "decisions/0001-offline-package/"} <= places


def test_pages_load_nothing_from_other_sites(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|img|link|iframe)[^>]+(?:src|href)="?(?:https?:)?//', page.read_text())
        assert loaded == [], page


def test_newest_version_of_the_site_is_listed_first(tmp_path: Path) -> None:
    for name in ("0.9.0", "0.10.0", "assets"):
        (tmp_path / name).mkdir()
    list_versions(tmp_path)
    listed = json.loads((tmp_path / "versions.json").read_text())
    assert [(each["version"], each["aliases"]) for each in listed] == [("0.10.0", ["latest"]), ("0.9.0", [])]
    assert 'url=0.10.0/index.html"' in (tmp_path / "index.html").read_text()


LINKS = {
    "from the README": ("README.md", "[a](docs/limits.md#b)", "[a](limits.md#b)"),
    "image": ("README.md", "![a](docs/images/a.svg)", "![a](images/a.svg)"),
    "to a document outside docs": ("docs/server.md", "[a](../SECURITY.md)", "[a](security.md)"),
    "from a subfolder": ("docs/decisions/0001.md", "[a](../limits.md)", "[a](../limits.md)"),
    "other site": ("README.md", "[a](https://kubevirt.io)", "[a](https://kubevirt.io)"),
}


@pytest.mark.parametrize(("document", "text", "rewritten"), LINKS.values(), ids=LINKS.keys())
def test_links_are_rewritten_to_point_to_pages_of_the_site(document: str, text: str, rewritten: str) -> None:
    assert rewrite_links(text, document) == rewritten

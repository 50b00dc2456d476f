"""Every screenshot of the web console is shown in a document, and the documents show no missing images."""

import re
from pathlib import Path

from tests.support.documents import ROOT, list_documents

_IMAGE = re.compile(r"!\[[^]]+\]\(([^):]+)\)")


def list_shown_images() -> set[Path]:
    """Return the image files that the documents show with a description."""
    return {
        (document.parent / name).resolve()
        for document in list_documents()
        for name in _IMAGE.findall(document.read_text())
    }


def test_every_screenshot_of_the_console_is_in_a_document() -> None:
    screenshots = set((ROOT / "docs/images").glob("console-*.png"))
    assert len(screenshots) > 20
    assert screenshots - list_shown_images() == set()


def test_every_image_of_a_document_exists() -> None:
    assert [path for path in list_shown_images() if not path.exists()] == []

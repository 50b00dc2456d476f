"""
MkDocs hooks: add documents outside `docs` as pages, and rewrite links to them.

>>> rewrite_links("see [limits](docs/limits.md#memory) and [console](console/README.md)", "README.md")
'see [limits](limits.md#memory) and [console](console.md)'
>>> rewrite_links("see [security](../SECURITY.md)", "docs/server.md")
'see [security](security.md)'
"""

import posixpath
import re
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
ADDED: Final = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "tour.md",
    "SECURITY.md": "security.md",
    "console/README.md": "console.md",
}
"""The pages for documents outside `docs`, by path of the document."""

_LINK: Final = re.compile(r"(?<=\]\()(?![a-z]+:)([^)#\s]+)")


def on_config(config: Any) -> Any:
    """Add all architecture decisions to the navigation."""
    contributing = next(part["Contributing"] for part in config.nav if "Contributing" in part)
    decisions = next(part["Decisions"] for part in contributing if "Decisions" in part)
    decisions += sorted(f"decisions/{path.name}" for path in (ROOT / "docs/decisions").glob("0*.md"))
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the documents outside `docs`."""
    from mkdocs.structure.files import File

    for source, page in ADDED.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Rewrite the links of a page."""
    sources = {name: source for source, name in ADDED.items()}
    return rewrite_links(markdown, sources.get(page.file.src_uri, f"docs/{page.file.src_uri}"))


def rewrite_links(markdown: str, source: str) -> str:
    """Return the text of a document with links relative to its page."""
    folder = posixpath.dirname(source)
    here = posixpath.dirname(_find_page(source))

    def rewrite(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[1]))
        return posixpath.relpath(_find_page(target), here or ".")

    return _LINK.sub(rewrite, markdown)


def _find_page(document: str) -> str:
    return ADDED.get(document, document.removeprefix("docs/"))

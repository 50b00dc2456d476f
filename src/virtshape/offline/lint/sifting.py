"""
Choose what to lint: not excluded files, files that git ignores, templates, and files without objects of our kinds.

Runs git, if it is installed, to list the ignored files of a folder.
"""

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

from virtshape.api.kinds import KINDS
from virtshape.api.yaml import YAMLError, scan_documents
from virtshape.offline.files import LeavesOut, affects_vms
from virtshape.offline.lint.decoding import find_stated_kind
from virtshape.offline.lint.settings import Pattern

Skip = Literal["template", "without objects of the checked kinds"]
TEMPLATE: Final[Skip] = "template"
FOREIGN: Final[Skip] = "without objects of the checked kinds"

_GIT: Final = ("git", "-c", "core.fsmonitor=false", "ls-files", "--others", "--ignored", "--exclude-standard")
_GIT_TIMEOUT: Final = 60
_KIND_NAMES: Final = "|".join(sorted({kind.kind for kind in KINDS if affects_vms(kind)}))
_OWN_KINDS: Final = re.compile(
    (
        rf"""\bkind["']?\s*:\s*["']?(?:{_KIND_NAMES})(?:List)?\b"""
        r"""|\bapiVersion["']?\s*:\s*["']?(?:[a-z]+\.)?kubevirt\.io/"""
    ).encode()
)
_TEMPLATE: Final = re.compile(r"\{\{.*?\}\}")
_OPEN_TEMPLATE: Final = b"{{"
_FREE_TEXT: Final = {"annotations", "userData", "networkData"}
"""Fields whose values may contain templates of other programs."""


def filter_folder(excludes: Sequence[Pattern]) -> Callable[[str], LeavesOut]:
    """Return a function that returns what is left out of a folder."""

    def for_folder(folder: str) -> LeavesOut:
        ignored = list_git_ignored(folder)
        return lambda path: path in ignored or any(pattern.matches(path) for pattern in excludes)

    return for_folder


def list_git_ignored(folder: str) -> frozenset[str]:
    """Return the files and folders below a folder that git ignores; none without git or outside of a repository."""
    command = (*_GIT[:1], "-C", folder, *_GIT[1:], "--directory", "-z")
    try:
        answer = subprocess.run(command, capture_output=True, check=True, timeout=_GIT_TIMEOUT)  # noqa: S603 - no shell
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    names = [name.decode(errors="surrogateescape").rstrip("/") for name in answer.stdout.split(b"\0") if name]
    # If the folder itself is ignored, the user named it nevertheless.
    return frozenset(f"{folder}/{name}" for name in names if name not in (".", ""))


def find_skip_reason(text: bytes, *, is_named: bool) -> Skip | None:
    """Return why a file is not linted; None if it is."""
    if not is_named and not _OWN_KINDS.search(text):
        return FOREIGN
    return TEMPLATE if _OPEN_TEMPLATE in text and _is_template(text) else None


def _is_template(text: bytes) -> bool:
    """Return True if the text is not valid YAML, or if a field of an object of our kinds is a placeholder."""
    for document in scan_documents(text):
        if isinstance(document, YAMLError):
            return True
        kind = find_stated_kind(document.tree)
        if kind is not None and affects_vms(kind) and any(map(_TEMPLATE.search, _list_scalars(document.tree))):
            return True
    return False


def _list_scalars(tree: Any) -> Iterator[str]:
    """Yield the keys and single-line values of a tree, without free text."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield key
            if key not in _FREE_TEXT:
                yield from _list_scalars(value)
    elif isinstance(tree, list):
        for item in tree:
            yield from _list_scalars(item)
    elif isinstance(tree, str) and "\n" not in tree:
        yield tree

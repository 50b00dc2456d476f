"""
Choose the files to lint, and find the reasons to skip the others.

Excluded files, files that git ignores, templates, patches for kustomize, and files without objects of checked kinds are
skipped. Git, if it is installed, lists the ignored files, and kustomization files list the patches.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from virtshape.api.kinds import KINDS
from virtshape.api.yaml import YAMLError, scan_documents
from virtshape.offline.files import File, LeavesOut, affects_vms
from virtshape.offline.lint.decoding import find_stated_kind
from virtshape.offline.lint.settings import Pattern


class Skip(NamedTuple):
    """A reason to skip files, as text for one file and for several files."""

    one: str
    many: str


TEMPLATE: Final = Skip("template", "templates")
PATCH: Final = Skip("patch for kustomize", "patches for kustomize")
FOREIGN: Final = Skip("without objects of the checked kinds", "without objects of the checked kinds")

_GIT: Final = ("git", "-c", "core.fsmonitor=false", "ls-files", "--others", "--ignored", "--exclude-standard")
_GIT_TIMEOUT: Final = 60
_KIND_NAMES: Final = "|".join(sorted({kind.kind for kind in KINDS if affects_vms(kind)}))
_OWN_KINDS: Final = re.compile(
    (
        rf"""\bkind["']?\s*:\s*["']?(?:{_KIND_NAMES})(?:List)?\b"""
        r"""|\bapiVersion["']?\s*:\s*["']?(?:[a-z]+\.)?kubevirt\.io/"""
    ).encode()
)
_VARIABLE_START: Final = re.compile(r"\$\{\w")
_BRACES: Final = b"{{"
_VARIABLE: Final = b"${"
_KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml")
_PATCH_FIELDS: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")
_FREE_TEXT: Final = {"annotations", "userData", "networkData"}
"""Fields whose values may contain templates for other programs."""


def filter_folder(excludes: Sequence[Pattern]) -> Callable[[str], LeavesOut]:
    """Return a function that returns the filter for a folder; the filter returns True for paths to skip."""

    def for_folder(folder: str) -> LeavesOut:
        ignored = list_git_ignored(folder)
        return lambda path: path in ignored or any(pattern.matches(path) for pattern in excludes)

    return for_folder


def list_git_ignored(folder: str) -> frozenset[str]:
    """Return the git-ignored files and folders below a folder; none without git or outside a repository."""
    # Imported here, because only folders are searched for ignored files.
    import subprocess

    command = (*_GIT[:1], "-C", folder, *_GIT[1:], "--directory", "-z")
    try:
        answer = subprocess.run(command, capture_output=True, check=True, timeout=_GIT_TIMEOUT)  # noqa: S603 - no shell
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    names = [name.decode(errors="surrogateescape").rstrip("/") for name in answer.stdout.split(b"\0") if name]
    # If git ignores the folder itself, it is linted, because the user named it.
    return frozenset(f"{folder}/{name}" for name in names if name not in (".", ""))


def list_patches(files: Iterable[File]) -> frozenset[str]:
    """Return the absolute paths of the patches that the kustomization files in `files` list."""
    return frozenset(
        str(Path(file.path).parent.joinpath(path).resolve())
        for file in files
        if Path(file.path).name in _KUSTOMIZATIONS
        for path in _read_kustomization(file)
    )


def _read_kustomization(file: File) -> Iterator[str]:
    """Yield the paths of the patches that a kustomization file lists; none if the file cannot be read or parsed."""
    try:
        documents = list(scan_documents(file.read(), file.name))
    except OSError:
        return
    for document in documents:
        tree = {} if isinstance(document, YAMLError) else document.tree
        for field in _PATCH_FIELDS:
            patches = tree.get(field) if isinstance(tree, dict) else None
            for patch in patches if isinstance(patches, list) else ():
                path = patch.get("path") if isinstance(patch, dict) else patch
                if isinstance(path, str) and "\n" not in path:
                    yield path


def find_skip_reason(text: bytes, *, is_named: bool) -> Skip | None:
    """Return the reason to skip a file with this text, or None if the file must be linted."""
    if not is_named and not _OWN_KINDS.search(text):
        return FOREIGN
    return TEMPLATE if (_BRACES in text or _VARIABLE in text) and _is_template(text) else None


def _is_template(text: bytes) -> bool:
    """Return True if a text with braces is not valid YAML, or if an object of a checked kind has a placeholder."""
    for document in scan_documents(text):
        if isinstance(document, YAMLError):
            if _BRACES in text:
                return True
            continue
        kind = find_stated_kind(document.tree)
        if kind is not None and affects_vms(kind) and any(map(has_placeholder, _list_scalars(document.tree))):
            return True
    return False


def has_placeholder(text: str) -> bool:
    """Return True if a text contains `{{ ... }}` or `${...}`, in linear time."""
    braces = text.find("{{")
    if braces >= 0 and text.find("}}", braces + 2) >= 0:
        return True
    variable = _VARIABLE_START.search(text)
    return variable is not None and text.find("}", variable.end()) >= 0


def _list_scalars(tree: Any) -> Iterator[str]:
    """Yield the keys and single-line strings in a tree, except the values of free text fields."""
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

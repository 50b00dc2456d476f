"""
Load objects from files, together with their documents and unknown fields.

Every file is read once, and loading continues after errors, so that the errors in all files are reported together.
Documents with unrelated kinds are skipped and not decoded. Only `replace_file` writes.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from virtshape.api.diagnosis import find_kind_problems
from virtshape.api.fielderror import VALUE_DUPLICATE, FieldError
from virtshape.api.kinds import KINDS, Kind, find_kind
from virtshape.api.problems import DecodeError
from virtshape.api.unknownfields import Unknown, decode_with_unknown
from virtshape.api.yaml import Document, YAMLError, scan_documents
from virtshape.offline.objects import reference_of
from virtshape.offline.problems import FileProblem, FilesError, locate
from virtshape.resolve.reference import Reference

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json")

LeavesOut = Callable[[str], bool]
"""A function that takes the path of a file or folder and returns True if it must not be read."""

_OWN_GROUPS = "kubevirt.io"
_OTHER_KINDS = {"PersistentVolumeClaim", "VolumeSnapshot", "ControllerRevision"}


class File(NamedTuple):
    """A file to read, which the user named or which was found in a folder; the path `-` means standard input."""

    path: str
    is_named: bool
    folder: str = ""
    """The folder that the file was found in; empty if the file was named."""

    @property
    def name(self) -> str:
        """The file's name in messages."""
        return "<stdin>" if self.path == STDIN else self.path

    def read(self) -> bytes:
        """Return the contents; raise OSError if the file was found in a folder and is not a regular file."""
        if self.path == STDIN:
            return sys.stdin.buffer.read()
        if not self.is_named and not stat.S_ISREG(Path(self.path).stat().st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return Path(self.path).read_bytes()

    def leads_outside(self) -> bool:
        """Return True if the file was found in a folder, but is a symbolic link to a file outside of it."""
        return bool(self.folder) and not Path(self.path).resolve().is_relative_to(Path(self.folder).resolve())


class Entry(NamedTuple):
    """One object in a file: its document, the decoded struct, and the fields that the struct does not have."""

    document: Document
    object: Any
    unknown: Unknown = ()

    @property
    def place(self) -> str:
        """The object's position, as `file:line:column`."""
        line, column = self.document.position()
        return f"{self.document.source}:{line}:{column}"

    def describe_unknown(self) -> list[FileProblem]:
        """Return a problem with a position for each unknown field."""
        return [locate(self.document, field.problem) for field in self.unknown]


class Loaded:
    """The result of loading files: objects, problems and skipped documents."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.problems: list[FileProblem] = []
        self.skipped: list[Document] = []

    def raise_problems(self) -> None:
        """Raise FilesError with all problems, if any."""
        if self.problems:
            raise FilesError(self.problems)


def affects_vms(kind: Kind) -> bool:
    """Return True if objects of this kind can affect the expansion of VMs."""
    return kind.group.endswith(_OWN_GROUPS) or kind.kind in _OTHER_KINDS


def load(paths: Iterable[str], wanted: Callable[[Kind], bool] = affects_vms) -> Loaded:
    """Load all objects of the wanted kinds from files, folders (recursively) and, for `-`, standard input."""
    loaded = Loaded()
    for file in find_files(paths, loaded.problems):
        try:
            text = file.read()
        except OSError as error:
            loaded.problems.append(describe_failure(file.name, error))
            continue
        take_text(text, file.name, loaded, wanted, is_named=file.is_named)
    return loaded


def take_text(text: bytes, name: str, loaded: Loaded, wanted: Callable[[Kind], bool], *, is_named: bool) -> None:
    """Parse the text of a file; add its objects of the wanted kinds and its problems to `loaded`."""
    for document in scan_documents(text, name):
        if isinstance(document, YAMLError):
            problem = FieldError("", document.problem)
            loaded.problems.append(FileProblem(document.source, (document.line, document.column), problem))
        else:
            take_document(document, loaded, wanted, is_named=is_named)


def find_duplicates(entries: Iterable[Entry]) -> Iterator[FileProblem]:
    """Yield a problem for each object that was already defined with different contents."""
    earlier: dict[Reference, Entry] = {}
    for entry in entries:
        reference = reference_of(entry.object)
        first = earlier.setdefault(reference, entry)
        if reference.name and first.document.tree != entry.document.tree:
            place = f"is also defined in {first.place} and differs"
            message = f'{reference.kind} "{reference.name}" {place}; keep one of them'
            yield locate(entry.document, FieldError("metadata.name", message, VALUE_DUPLICATE))


def find_files(
    paths: Iterable[str], problems: list[FileProblem], filter_folder: Callable[[str], LeavesOut] | None = None
) -> Iterator[File]:
    """
    Yield each file once, and append a problem for each folder that cannot be read to `problems`.

    `filter_folder` returns a function that decides which paths in a folder are skipped. Files that the user named are
    never skipped.
    """
    seen = set()
    for path in paths:
        is_folder = path not in ("", STDIN) and Path(path).is_dir()
        folder = path.rstrip("/") or path
        leaves_out = filter_folder(folder) if is_folder and filter_folder else _leave_out_nothing
        for source in _walk(folder, problems, leaves_out) if is_folder else (path,):
            identity = _identify(source)
            if identity not in seen:
                seen.add(identity)
                yield File(source, not is_folder, folder if is_folder else "")


def _identify(source: str) -> object:
    """Return a value that is the same for all paths to one file."""
    try:
        status = Path(source).stat() if source != STDIN else None
    except OSError:  # reading the file reports the error
        status = None
    return source if status is None else (status.st_dev, status.st_ino)


def _leave_out_nothing(path: str) -> bool:  # noqa: ARG001 - the signature of LeavesOut
    return False


def _walk(folder: str, problems: list[FileProblem], leaves_out: LeavesOut) -> Iterator[str]:
    def note(error: OSError) -> None:
        problems.append(describe_failure(error.filename, error))

    for parent, folders, names in os.walk(folder, onerror=note):
        folders[:] = sorted(n for n in folders if not n.startswith(".") and not leaves_out(f"{parent}/{n}"))
        paths = (f"{parent}/{name}" for name in sorted(names) if name.endswith(SUFFIXES))
        yield from (path for path in paths if not leaves_out(path))


def describe_failure(source: str, error: OSError) -> FileProblem:
    """Return the problem for a file or folder that cannot be read."""
    return FileProblem(source, None, FieldError("", f"cannot be read: {error.strerror}"))


def take_document(document: Document, loaded: Loaded, wanted: Callable[[Kind], bool], *, is_named: bool) -> None:
    """Add the object in a document, or its problems, to `loaded`; documents of unwanted kinds are added as skipped."""
    tree = document.tree
    kind = _find_stated_kind(tree)
    if kind is None and _should_be_wanted(tree, wanted, is_named=is_named):
        loaded.problems += (locate(document, problem) for problem in find_kind_problems(tree))
    elif kind is None or not wanted(kind):
        loaded.skipped.append(document)
    else:
        try:
            loaded.entries.append(Entry(document, *decode_with_unknown(tree, kind.struct)))
        except DecodeError as error:
            loaded.problems += (locate(document, cause) for cause in error.causes)


def _find_stated_kind(tree: Any) -> Kind | None:
    if not isinstance(tree, dict):
        return None
    api_version, kind = tree.get("apiVersion"), tree.get("kind")
    return find_kind(api_version, kind) if isinstance(api_version, str) and isinstance(kind, str) else None


def _should_be_wanted(tree: Any, wanted: Callable[[Kind], bool], *, is_named: bool) -> bool:
    """Return True if an unknown kind is an error: the version is wrong, or a file that the user named has no kind."""
    if not isinstance(tree, dict) or not tree.get("kind"):
        return is_named
    group = str(tree.get("apiVersion") or "").rpartition("/")[0]
    return any(kind.kind == tree["kind"] and group in (kind.group, "") and wanted(kind) for kind in KINDS)


def replace_file(path: Path, before: bytes, after: bytes) -> bool:
    """Replace a file atomically and preserve its permissions; return False if its contents are no longer `before`."""
    # Imported here, because few commands write files.
    import tempfile

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(after)
            stream.flush()
            os.fsync(stream.fileno())
        status = path.stat()
        draft.chmod(status.st_mode & 0o7777)
        if os.geteuid() == 0:
            os.chown(draft, status.st_uid, status.st_gid)
        if path.read_bytes() != before:
            return False
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return True

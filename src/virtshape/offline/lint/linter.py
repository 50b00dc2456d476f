"""
Lint texts one after another, in a given context.

Only the data that is needed to detect duplicate objects is kept between texts.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.api.yaml import Document, YAMLError, scan_documents
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE
from virtshape.offline.files import affects_vms
from virtshape.offline.lint.context import LintContext
from virtshape.offline.lint.decoding import (
    check_kind,
    check_metadata,
    check_version,
    decode_leniently,
    find_stated_kind,
    is_checked,
    reference_of_tree,
    skip_undecoded,
)
from virtshape.offline.lint.evaluation import FileCluster, evaluate_object, find_place
from virtshape.offline.lint.finding import Finding, Subject, build_finding
from virtshape.resolve.reference import Reference

_BUCKETS: Final = 1024
_EMPTY_BUCKET: Final = (array("q"), array("L"))
_KEY_TWICE: Final = "appears twice in the same object"


class SeenObjects:
    """
    The objects seen so far, which are kept to detect objects that are defined more than once.

    To save memory, only a 64-bit hash and a file number are kept for each object. Files must be checked one by one.
    """

    def __init__(self) -> None:
        self._files: list[str] = []
        self._buckets: dict[int, tuple[array[int], array[int]]] = {}

    def find_earlier_file(self, reference: Reference, file: str) -> str | None:
        """
        Return the file in the same folder that defined the object before; else remember this file and return None.

        Other folders do not count, because folders are often applied separately, for example to different clusters.
        """
        key = hash((reference, file.rpartition("/")[0]))
        earlier = self._find(key)
        if earlier is None:
            self._add(key, file)
        return earlier

    def list_keys(self) -> list[int]:
        """Return the hashes of all objects; they are equal in all forks of a process."""
        return [key for keys, _ in self._buckets.values() for key in keys]

    def add_keys(self, keys: Iterable[int], file: str) -> bool:
        """Remember the objects in a file by their hashes; return False and change nothing if one was seen before."""
        if any(self._find(key) is not None for key in keys):
            return False
        for key in keys:
            self._add(key, file)
        return True

    def _find(self, key: int) -> str | None:
        keys, files = self._buckets.get(key % _BUCKETS, _EMPTY_BUCKET)
        at = bisect_left(keys, key)
        return self._files[files[at]] if at < len(keys) and keys[at] == key else None

    def _add(self, key: int, file: str) -> None:
        if not self._files or self._files[-1] != file:
            self._files.append(file)
        keys, files = self._buckets.setdefault(key % _BUCKETS, (array("q"), array("L")))
        at = bisect_left(keys, key)
        keys.insert(at, key)
        files.insert(at, len(self._files) - 1)


class CheckedObjects(NamedTuple):
    """What a process that lints a part of the files reports about one file: its objects, by hash, and their number."""

    checked: int
    keys: list[int]


class Linter:
    """Checks texts one by one; `checked` is the number of objects checked so far."""

    def __init__(self, context: LintContext, architecture: str = DEFAULT_ARCHITECTURE) -> None:
        self.checked = 0
        self._cluster = FileCluster(context, architecture)
        self._seen = SeenObjects()

    def list_checked(self) -> CheckedObjects:
        """Return the objects that were checked so far."""
        return CheckedObjects(self.checked, self._seen.list_keys())

    def add_checked(self, objects: CheckedObjects, file: str) -> bool:
        """Add the objects of a file that another process linted; return False if one was defined in a file before."""
        if not self._seen.add_keys(objects.keys, file):
            return False
        self.checked += objects.checked
        return True

    def check_text(self, text: str | bytes, file: str, *, is_named: bool = True) -> list[Finding]:
        """Return all findings in a text, by position; `is_named` is True if the file was named on the command line."""
        findings = []
        for document in scan_documents(text, file):
            if isinstance(document, YAMLError):
                rule = "duplicate-key" if document.problem.endswith(_KEY_TWICE) else "syntax"
                issue = FieldError("", document.problem, rule=rule)
                findings.append(build_finding(issue, file, (document.line, document.column), None))
            else:
                findings += self._check_document(document, is_named=is_named)
        return sorted(findings, key=lambda finding: finding.place)

    def _check_document(self, document: Document, *, is_named: bool) -> Iterator[Finding]:
        tree = document.tree
        kind = find_stated_kind(tree)
        if kind is None:
            for issue in check_kind(tree, is_named=is_named):
                yield build_finding(issue, document.source, document.position(issue.field), None)
        elif affects_vms(kind):
            self.checked += 1
            reference = reference_of_tree(tree, kind)
            subject = Subject(kind.kind, reference.namespace, reference.name)
            for issue in self._check_object(tree, kind, reference, document.source):
                position = document.position(find_place(issue, tree))
                yield build_finding(issue, document.source, position, subject)

    def _check_object(self, tree: JsonObject, kind: Kind, reference: Reference, file: str) -> Iterator[FieldError]:
        yield from check_version(tree)
        yield from self._check_sole(reference, file)
        if not is_checked(kind):
            yield from check_metadata(tree, kind, is_decoded=False)
            return
        reading = decode_leniently(tree, kind)
        yield from reading.issues
        yield from skip_undecoded(check_metadata(reading.tree, kind, is_decoded=reading.object is not None), reading)
        if reading.object is not None:
            evaluated = evaluate_object(kind, reading.tree, reading.object, self._cluster)
            yield from skip_undecoded(dict.fromkeys(evaluated), reading)

    def _check_sole(self, reference: Reference, file: str) -> Iterator[FieldError]:
        first = self._seen.find_earlier_file(reference, file) if reference.name else None
        if first is None:
            return
        where = "further up in this file" if first == file else f"in {first}"
        message = f'{reference.kind} "{reference.name}" is defined {where} too: rename or remove one of them'
        yield FieldError("metadata.name", message, rule="duplicate-object")

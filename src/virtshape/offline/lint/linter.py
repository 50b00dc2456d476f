"""
Lint texts one after another, against a given context.

Between texts, only the data to detect duplicate objects is kept.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

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
_KEY_TWICE: Final = "appears twice in the same object"


class SeenObjects:
    """
    The objects seen so far, to detect objects that are defined more than once.

    Objects are identified by a 64-bit hash, which takes a dozen bytes per object. Files must be checked one by one.
    """

    def __init__(self) -> None:
        self._files: list[str] = []
        self._buckets = [(array("q"), array("L")) for _ in range(_BUCKETS)]

    def find_earlier_file(self, reference: Reference, file: str) -> str | None:
        """
        Return the file in the same folder in which the object was seen before; None if this is the first time.

        Other folders do not count, because folders are often applied separately, such as one for each cluster.
        """
        if not self._files or self._files[-1] != file:
            self._files.append(file)
        key = hash((reference, file.rpartition("/")[0]))
        keys, files = self._buckets[key % _BUCKETS]
        at = bisect_left(keys, key)
        if at < len(keys) and keys[at] == key:
            return self._files[files[at]]
        keys.insert(at, key)
        files.insert(at, len(self._files) - 1)
        return None


class Linter:
    """Checks texts; `checked` is the number of objects checked so far."""

    def __init__(self, context: LintContext, architecture: str = DEFAULT_ARCHITECTURE) -> None:
        self.checked = 0
        self._cluster = FileCluster(context, architecture)
        self._seen = SeenObjects()

    def check_text(self, text: str | bytes, file: str, *, is_named: bool = True) -> list[Finding]:
        """Return all findings in a text, in order; `is_named` is True if the file was named on the command line."""
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

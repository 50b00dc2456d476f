"""
Lint of one text after another: every finding in it, against surroundings that are known beforehand.

Keeps of what it has seen only what tells a second object of the same name.
"""

from collections.abc import Iterator
from typing import Any, Final

from virtshape.admission.rules.machine import check_machine
from virtshape.admission.sizing import check_sizing
from virtshape.admission.violation import Violation
from virtshape.api.kinds import Kind
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.yaml import Document, YAMLError, scan_documents
from virtshape.engine.machine import DEFAULT_ARCHITECTURE
from virtshape.offline.files import shapes_vms
from virtshape.offline.lint.finding import Finding, Remark, Subject, place_remark
from virtshape.offline.lint.fit import check_fit
from virtshape.offline.lint.reading import (
    check_identity,
    check_kind,
    find_stated_kind,
    is_checked,
    leave_out,
    read_object,
    refer_to,
)
from virtshape.offline.lint.sightings import Sightings
from virtshape.offline.lint.surroundings import Surroundings
from virtshape.resolve.reference import Reference

_KEY_TWICE: Final = "appears twice in the same object"


class Linter:
    """Checks texts; `checked` counts the objects that it has looked at."""

    def __init__(self, around: Surroundings, architecture: str = DEFAULT_ARCHITECTURE) -> None:
        self.checked = 0
        self._around = around
        self._architecture = architecture
        self._seen = Sightings()

    def check_text(self, text: str | bytes, file: str, *, is_named: bool = True) -> list[Finding]:
        """All findings of a text, in its order; `is_named` says that it was asked for, and not just found."""
        findings = []
        for document in scan_documents(text, file):
            if isinstance(document, YAMLError):
                rule = "duplicate-key" if document.problem.endswith(_KEY_TWICE) else "syntax"
                remark = Remark(rule, "", document.problem)
                findings.append(place_remark(remark, file, (document.line, document.column), None))
            else:
                findings += self._check_document(document, is_named=is_named)
        return sorted(findings, key=lambda finding: finding.place)

    def _check_document(self, document: Document, *, is_named: bool) -> Iterator[Finding]:
        tree = document.tree
        kind = find_stated_kind(tree)
        if kind is None:
            for remark in check_kind(tree, is_named=is_named):
                yield place_remark(remark, document.source, document.position(remark.field), None)
        elif shapes_vms(kind):
            self.checked += 1
            reference = refer_to(tree, kind)
            subject = Subject(kind.kind, reference.namespace, reference.name)
            for remark in self._check_object(tree, kind, reference, document.source):
                yield place_remark(remark, document.source, document.position(remark.field), subject)

    def _check_object(self, tree: dict[str, Any], kind: Kind, reference: Reference, file: str) -> Iterator[Remark]:
        yield from check_identity(tree, reference)
        yield from self._check_sole(reference, file)
        if not is_checked(kind):
            return
        reading = read_object(tree, kind.struct)
        yield from reading.remarks
        if reading.object is not None:
            yield from leave_out(self._check_decoded(reading.object), reading)

    def _check_decoded(self, found: Any) -> Iterator[Remark]:
        if isinstance(found, VirtualMachine):
            yield from map(_remark, check_machine(found))
            yield from check_fit(found, self._around, self._architecture)
        else:
            yield from map(_remark, check_sizing(found))

    def _check_sole(self, reference: Reference, file: str) -> Iterator[Remark]:
        first = self._seen.find_first(reference, file) if reference.name else None
        if first is None:
            return
        where = "further up in this file" if first == file else f"in {first}"
        message = f'{reference.kind} "{reference.name}" is defined {where} too: rename or remove one of them'
        yield Remark("duplicate-object", "metadata.name", message)


def _remark(violation: Violation) -> Remark:
    return Remark(violation.rule, violation.field, violation.message)

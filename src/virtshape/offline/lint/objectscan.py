"""
Find the objects in files that VMs may refer to, before the files are linted one by one.

Documents that cannot contain such objects are skipped. Errors are reported later, when the files are linted.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from virtshape.api.problems import DecodeError
from virtshape.api.unknownfields import decode_with_unknown
from virtshape.api.yaml import Document, scan_documents
from virtshape.offline.files import affects_vms
from virtshape.offline.lint.decoding import find_stated_kind, reference_of_tree
from virtshape.offline.objects import Objects
from virtshape.resolve.reference import Reference

_MARKS: Final = (
    b"Instancetype",
    b"Preference",
    b"Flavor",
    b"DataVolume",
    b"DataSource",
    b"PersistentVolumeClaim",
    b"VolumeSnapshot",
    b"ControllerRevision",
    b"KubeVirt",
)
"""Every document with an object that VMs may refer to contains at least one of these strings."""
_RUNNING_KINDS: Final = {"VirtualMachine", "VirtualMachineInstance"}
_SEPARATOR: Final = re.compile(rb"^---.*$", re.MULTILINE)
_PLAIN_VM: Final = re.compile(rb"^kind:[ \t]*VirtualMachine[ \t]*\r?$", re.MULTILINE)


def scan_objects(texts: Iterable[bytes]) -> tuple[Objects, set[Reference]]:
    """Return the valid objects in the texts that VMs may refer to, and references to the invalid ones."""
    objects, broken = Objects(), set[Reference]()
    for text in texts:
        for document in _find_candidates(text):
            kind = find_stated_kind(document.tree)
            if kind is None or kind.kind in _RUNNING_KINDS or not affects_vms(kind):
                continue
            try:
                found, _ = decode_with_unknown(document.tree, kind.struct)
            except DecodeError:
                broken.add(reference_of_tree(document.tree, kind))
            else:
                objects.add(found)
    return objects, broken


def _find_candidates(text: bytes) -> Iterator[Document]:
    if not _is_marked(text):
        return
    pieces = [piece for piece in _SEPARATOR.split(text) if _is_marked(piece) and not _PLAIN_VM.search(piece)]
    if pieces:
        scanned = scan_documents(b"\n---\n".join(pieces))
        yield from (document for document in scanned if isinstance(document, Document))


def _is_marked(text: bytes) -> bool:
    return any(mark in text for mark in _MARKS)

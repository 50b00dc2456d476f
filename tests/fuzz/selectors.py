"""Fuzz target: label and field selectors in query parameters."""

from contextlib import suppress

from tests.fuzz.objects import POD, kind_of
from tests.fuzz.target import Target

from virtshape.api.status import StatusError
from virtshape.apiserver.selectors.fieldselector import compile_terms, parse_field_selector
from virtshape.apiserver.selectors.labelselector import compile_label_selector


def run(data: bytes) -> None:
    """Parse the text as both kinds of selector, and match an object with the result."""
    text = data.decode(errors="surrogateescape")
    with suppress(StatusError):
        compile_label_selector(text)({"a": "b", "n": "5"})
    with suppress(StatusError):
        compile_terms(parse_field_selector(text, kind_of(POD)), kind_of(POD))(POD)


TARGET = Target(
    "selectors",
    run,
    (
        b"a=b,c!=d,e in (f,g),!h,i notin (j),n>3,m<4,k",
        b"metadata.name=fuzzed,metadata.namespace!=default,status.phase==Running",
        b"spec.nodeName=a\\,b\\=c\\\\",
        b"example.com/a in (b, ,c)",
    ),
    (b" in ", b" notin ", b"(", b")", b",", b"!=", b"==", b"=", b"!", b">", b"<", b"\\", b"metadata.name"),
)

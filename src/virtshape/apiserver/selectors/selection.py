"""
Selections for lists and watches: match stored bytes with label and field selectors.

A single name is matched without decoding, and labels without decoding the rest of the object.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from virtshape.api.model import JsonObject
from virtshape.apiserver.listoptions import ListOptions
from virtshape.apiserver.resource import Resource
from virtshape.apiserver.selectors.fieldselector import NAME, compile_terms, parse_field_selector
from virtshape.apiserver.selectors.labelselector import compile_label_selector
from virtshape.store.record import Key


class _Metadata(Struct):
    labels: dict[str, str] | None = None


class _Labelled(Struct):
    metadata: _Metadata


_read_labels = msgspec.json.Decoder(_Labelled).decode
_read_tree = msgspec.json.Decoder(JsonObject).decode


class Selection(Struct, frozen=True):
    """Matches objects with both selectors; `name` is set if the field selector requires a single name."""

    labels: Callable[[Mapping[str, str]], bool] | None
    fields: Callable[[Mapping[str, Any]], bool] | None
    name: str | None

    @property
    def needs_value(self) -> bool:
        """Return True if matching needs more than an object's key."""
        return self.labels is not None or self.fields is not None

    @property
    def selects(self) -> bool:
        """Return True if the selection can exclude objects."""
        return self.needs_value or self.name is not None

    def may_match(self, key: Key) -> bool:
        """Return True if an object at this key can match."""
        return self.name is None or self.name == key.name

    def matches(self, value: bytes) -> bool:
        """Return True if an object matches, provided that `may_match` accepts its key."""
        if self.labels is not None and not self.labels(_read_labels(value).metadata.labels or {}):
            return False
        return self.fields is None or self.fields(_read_tree(value))


def compile_selection(resource: Resource, options: ListOptions) -> Selection:
    """Compile the label and field selectors of list options."""
    labels = compile_label_selector(options.label_selector) if options.label_selector else None
    terms = parse_field_selector(options.field_selector, resource.kind) if options.field_selector else ()
    names = {term.value for term in terms if term.field == NAME and term.equal}
    rest = [term for term in terms if not (term.field == NAME and term.equal)] if len(names) == 1 else terms
    return Selection(
        labels, compile_terms(rest, resource.kind) if rest else None, names.pop() if len(names) == 1 else None
    )

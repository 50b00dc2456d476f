"""Validate reserved labels: only the controllers may set them on VMIs."""

from collections.abc import Iterator, Mapping
from typing import Final

from virtshape.admission.rules.checks import NOT_SUPPORTED
from virtshape.admission.violation import Violation

RESERVED_LABELS: Final = frozenset(
    {
        "kubevirt.io/created-by",
        "kubevirt.io/install-strategy",
        "kubevirt.io/migrationJobUID",
        "kubevirt.io/migrationTargetNodeName",
        "kubevirt.io/nodeName",
        "kubevirt.io/schedulable",
    }
)


def check_labels(labels: Mapping[str, str], at: str) -> Iterator[Violation]:
    """Report reserved labels; `at` is the path of the labels."""
    if not RESERVED_LABELS.isdisjoint(labels):
        reserved = ", ".join(sorted(RESERVED_LABELS & labels.keys()))
        reason = "creation of the following reserved kubevirt.io/ labels on a VMI object is prohibited"
        yield Violation("unsupported-value", at, f"{reason}: {reserved}", NOT_SUPPORTED)


def check_label_changes(labels: Mapping[str, str], before: Mapping[str, str], at: str) -> Iterator[Violation]:
    """Report changes to reserved labels; `before` are the previous labels."""
    changed = sorted(label for label in RESERVED_LABELS if labels.get(label) != before.get(label))
    if changed:
        reason = "modification of the following reserved kubevirt.io/ labels on a VMI object is prohibited"
        yield Violation("unsupported-value", at, f"{reason}: {', '.join(changed)}", NOT_SUPPORTED)

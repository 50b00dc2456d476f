"""Validation of reserved labels on instances."""

import pytest

from virtshape.admission.rules.labels import RESERVED_LABELS, check_label_changes, check_labels
from virtshape.admission.violation import Violation

AT = "metadata.labels"
NODE = "kubevirt.io/nodeName"


@pytest.mark.parametrize("label", sorted(RESERVED_LABELS))
def test_reserved_label_is_reported(label: str) -> None:
    reason = "creation of the following reserved kubevirt.io/ labels on a VMI object is prohibited"
    assert list(check_labels({label: "a", "app": "b"}, AT)) == [
        Violation("unsupported-value", AT, f"{reason}: {label}", "FieldValueNotSupported")
    ]


def test_other_labels_are_accepted() -> None:
    assert list(check_labels({"app": "a", "kubevirt.io/vm": "b", "vm.kubevirt.io/name": "c"}, AT)) == []


@pytest.mark.parametrize(
    ("labels", "before", "count"),
    [
        ({NODE: "a"}, {NODE: "a", "app": "b"}, 0),
        ({}, {"app": "b"}, 0),
        ({NODE: "b"}, {NODE: "a"}, 1),
        ({NODE: "a"}, {}, 1),
        ({}, {NODE: "a"}, 1),
    ],
    ids=["kept", "other labels", "changed", "added", "removed"],
)
def test_change_to_reserved_label_is_reported(labels: dict[str, str], before: dict[str, str], count: int) -> None:
    found = list(check_label_changes(labels, before, AT))
    reason = (
        "modification of the following reserved kubevirt.io/ labels on a VMI object is prohibited: kubevirt.io/nodeName"
    )
    assert [each.message for each in found] == [reason] * count

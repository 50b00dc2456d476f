"""Termination messages within Kubernetes' size limit, and the label that Services select."""

import pytest

from virtshape.api.launcherpod import (
    MAX_BYTES,
    TerminationMessage,
    format_termination_message,
    format_vmi_id,
    parse_termination_message,
)

TEXTS = {
    "short": (TerminationMessage("GuestPanicked", "the guest has panicked"), "the guest has panicked"),
    "empty": (TerminationMessage(), ""),
    "too long": (TerminationMessage("Failed", "x" * 9000), "x" * 2250),
    "too long, multi-byte characters": (TerminationMessage("Failed", "é" * 5000), "é" * 1250),
}


@pytest.mark.parametrize(("message", "kept"), TEXTS.values(), ids=TEXTS.keys())
def test_termination_message_is_truncated_to_the_size_limit(message: TerminationMessage, kept: str) -> None:
    text = format_termination_message(message)
    assert len(text) <= MAX_BYTES
    assert parse_termination_message(text.decode()) == TerminationMessage(message.reason, kept)


def test_plain_text_is_parsed_as_the_termination_message() -> None:
    assert parse_termination_message("exec format error\n") == TerminationMessage(message="exec format error")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("web", "web"),
        ("n" * 63, "n" * 63),
        (f"{'n' * 60}.{'m' * 60}", f"{'n' * 54}-c9380a98"),
    ],
    ids=["short", "longest label", "longer than a label"],
)
def test_vmi_id_is_a_valid_label_value(name: str, expected: str) -> None:
    assert format_vmi_id(name) == expected

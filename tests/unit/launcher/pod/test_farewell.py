"""Last words of a guest, through the few bytes that Kubernetes keeps of them."""

import pytest

from virtshape.launcher.pod.farewell import MOST_BYTES, Farewell, format_farewell, parse_farewell

TEXTS = {
    "words": (Farewell("GuestPanicked", "the guest has panicked"), "the guest has panicked"),
    "none": (Farewell(), ""),
    "too many": (Farewell("Failed", "x" * 9000), "x" * 2250),
    "too many, and long letters": (Farewell("Failed", "é" * 5000), "é" * 1250),
}


@pytest.mark.parametrize(("farewell", "message"), TEXTS.values(), ids=TEXTS.keys())
def test_words_come_through(farewell: Farewell, message: str) -> None:
    text = format_farewell(farewell)
    assert len(text) <= MOST_BYTES
    assert parse_farewell(text.decode()) == Farewell(farewell.reason, message)


def test_other_words_are_for_people() -> None:
    assert parse_farewell("exec format error\n") == Farewell(message="exec format error")

import pytest

from virtshape.api.times import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("45s", 45), ("1m30s", 90), ("250ms", 0.25), ("1.5h", 5400), (".5s", 0.5), ("1h1m1s", 3661)],
)
def test_duration_is_parsed_as_in_go(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "-1s", "1d", "1s2", "1e3s", "9" * 70 + "s"])
def test_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="invalid duration"):
        parse_duration(text)

import click
import pytest

from virtshape.cli.paramtypes import Duration, parse_seconds


@pytest.mark.parametrize(("text", "seconds"), [("45", 45), ("45s", 45), ("1m30s", 90), ("0", None), ("0s", None)])
def test_durations_are_parsed_like_kubectl(text: str, seconds: float | None) -> None:
    assert Duration().convert(text, None, None) == text
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1s", "1.5"])
def test_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(click.BadParameter, match="must be like 45s"):
        Duration().convert(text, None, None)

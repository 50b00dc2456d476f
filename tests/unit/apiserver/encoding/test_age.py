"""Ages are formatted as in kubectl."""

import pytest

from virtshape.apiserver.encoding.age import format_age, format_duration

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1.9, "0s"),
        (-0.5, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 1, "2m1s"),
        (9 * MINUTE + 59, "9m59s"),
        (10 * MINUTE + 59, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (7 * HOUR + 59 * MINUTE, "7h59m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (7 * DAY + 23 * HOUR, "7d23h"),
        (8 * DAY + 23 * HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (7 * YEAR + 364 * DAY, "7y364d"),
        (8 * YEAR + 364 * DAY, "8y"),
    ],
)
def test_duration_is_formatted_as_in_kubectl(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("time", "text"),
    [
        pytest.param("1970-01-01T00:16:00Z", "40s", id="to the second"),
        pytest.param("1970-01-01T00:16:00.250000Z", "39s", id="to the microsecond"),
        pytest.param(None, "<unknown>", id="absent"),
        pytest.param("", "<unknown>", id="empty"),
        pytest.param("yesterday", "<invalid>", id="not a timestamp"),
    ],
)
def test_age_of_a_timestamp_is_formatted(time: str | None, text: str) -> None:
    assert format_age(time, now=1000.0) == text

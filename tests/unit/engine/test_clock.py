"""The clock's offset and its timers, each as a whole."""

import pytest
from tests.support.engine import apply_to_domain

from virtshape.api.model import JsonObject

UTC: JsonObject = {"utc": {"offsetSeconds": 60}}
ROME: JsonObject = {"timezone": "Europe/Rome"}
TIMER: JsonObject = {"hpet": {"present": False}, "pit": {"tickPolicy": "delay"}}


@pytest.mark.parametrize(
    ("own", "preferred", "result"),
    [
        pytest.param(None, {}, {}, id="nothing preferred"),
        pytest.param(None, {"preferredClockOffset": UTC}, UTC, id="utc"),
        pytest.param(None, {"preferredClockOffset": ROME}, ROME, id="timezone"),
        pytest.param(None, {"preferredClockOffset": {}}, {}, id="no offset"),
        pytest.param({"utc": {}}, {"preferredClockOffset": UTC}, {"utc": {}}, id="own utc"),
        pytest.param({"utc": {}}, {"preferredClockOffset": ROME}, {"utc": {}}, id="own utc beats a timezone"),
        pytest.param(ROME, {"preferredClockOffset": UTC}, ROME, id="own timezone beats utc"),
        pytest.param(None, {"preferredTimer": TIMER}, {"timer": TIMER}, id="timer"),
        pytest.param({"timer": {}}, {"preferredTimer": TIMER}, {"timer": {}}, id="own timers, though none"),
        pytest.param(
            {"timer": {"rtc": {}}}, {"preferredTimer": TIMER}, {"timer": {"rtc": {}}}, id="own timers are not merged"
        ),
        pytest.param(
            {"timer": {"rtc": {}}},
            {"preferredTimer": TIMER, "preferredClockOffset": UTC},
            {"timer": {"rtc": {}}, **UTC},
            id="offset beside own timers",
        ),
    ],
)
def test_clock_preferences_fill_offset_and_timers(
    own: JsonObject | None, preferred: JsonObject, result: JsonObject
) -> None:
    assert apply_to_domain({"clock": own}, preference={"clock": preferred})["clock"] == result

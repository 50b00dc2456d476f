"""Clock offset and timers: each is taken completely from the VM or from the preference."""

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
        pytest.param({"utc": {}}, {"preferredClockOffset": UTC}, {"utc": {}}, id="VM utc"),
        pytest.param(
            {"utc": {}}, {"preferredClockOffset": ROME}, {"utc": {}}, id="VM utc overrides a preferred timezone"
        ),
        pytest.param(ROME, {"preferredClockOffset": UTC}, ROME, id="VM timezone overrides preferred utc"),
        pytest.param(None, {"preferredTimer": TIMER}, {"timer": TIMER}, id="timer"),
        pytest.param({"timer": {}}, {"preferredTimer": TIMER}, {"timer": {}}, id="empty VM timers"),
        pytest.param(
            {"timer": {"rtc": {}}}, {"preferredTimer": TIMER}, {"timer": {"rtc": {}}}, id="VM timers are not merged"
        ),
        pytest.param(
            {"timer": {"rtc": {}}},
            {"preferredTimer": TIMER, "preferredClockOffset": UTC},
            {"timer": {"rtc": {}}, **UTC},
            id="preferred offset with VM timers",
        ),
    ],
)
def test_clock_preferences_fill_offset_and_timers(
    own: JsonObject | None, preferred: JsonObject, result: JsonObject
) -> None:
    assert apply_to_domain({"clock": own}, preference={"clock": preferred})["clock"] == result

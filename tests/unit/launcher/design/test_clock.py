"""The hardware clock and the timers of a guest."""

import pytest
from msgspec.structs import replace
from tests.support.domains import ACCELERATED, EMULATING, design_guest, list_notes, list_refusals

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.clock import Clock, Timer

HINTS = {"topologyHints": {"tscFrequency": 2_500_000_000}}
TSC = (Timer(name="tsc", frequency=2_500_000_000),)


@pytest.mark.parametrize(
    ("asked", "clock"),
    [
        pytest.param(None, Clock(), id="UTC by default"),
        pytest.param({"timer": {}}, Clock(), id="UTC with an empty clock"),
        pytest.param({"utc": {}}, Clock(adjustment="reset"), id="UTC at every boot"),
        pytest.param({"utc": {"offsetSeconds": -3600}}, Clock(adjustment=-3600), id="UTC offset"),
        pytest.param({"utc": {"offsetSeconds": 0}}, Clock(adjustment=0), id="adjustable UTC"),
        pytest.param(
            {"timezone": "Europe/Rome"}, Clock(offset="timezone", timezone="Europe/Rome"), id="in a time zone"
        ),
        pytest.param(
            {
                "timer": {
                    "hpet": {"present": False},
                    "hyperv": {},
                    "kvm": {"present": True},
                    "pit": {"tickPolicy": "delay"},
                    "rtc": {"tickPolicy": "catchup", "track": "guest"},
                }
            },
            Clock(
                timers=(
                    Timer(name="rtc", present=True, tick_policy="catchup", track="guest"),
                    Timer(name="pit", present=True, tick_policy="delay"),
                    Timer(name="kvmclock", present=True),
                    Timer(name="hpet", present=False),
                    Timer(name="hypervclock", present=True),
                )
            ),
            id="every timer",
        ),
    ],
)
def test_clock_has_the_requested_fields(asked: JsonObject | None, clock: Clock) -> None:
    design = design_guest({"clock": asked})
    assert design.domain.clock == clock
    assert (design.refusals, design.notes) == ((), ())


@pytest.mark.parametrize(
    ("domain", "timers"),
    [
        pytest.param({}, (), id="not required"),
        pytest.param({"cpu": {"features": [{"name": "invtsc"}]}}, TSC, id="invariant TSC"),
        pytest.param({"cpu": {"features": [{"name": "invtsc", "policy": "disable"}]}}, (), id="no invariant TSC"),
        pytest.param({"features": {"hyperv": {"reenlightenment": {}}}}, TSC, id="Hyper-V reenlightenment"),
    ],
)
def test_tsc_frequency_is_fixed_only_if_a_feature_relies_on_it(domain: JsonObject, timers: tuple[Timer, ...]) -> None:
    assert design_guest(domain, status=HINTS).domain.clock == Clock(timers=timers)


def test_tsc_frequency_is_not_set_without_kvm() -> None:
    asked: JsonObject = {"features": {"hyperv": {"reenlightenment": {}}}}
    assert design_guest(asked, status=HINTS, host=EMULATING).domain.clock == Clock()


def test_kvm_and_hyperv_timers_have_a_note_without_kvm() -> None:
    design = design_guest({"clock": {"timer": {"kvm": {}, "hyperv": {}, "rtc": {}}}}, host=EMULATING)
    notes = list_notes(design)
    assert notes["clock.timer.kvm"] == "has no effect without KVM"
    assert notes["clock.timer.hyperv"] == "has no effect without KVM"
    assert "clock.timer.rtc" not in notes
    assert design.refusals == ()


def test_hpet_supports_only_one_tick_policy() -> None:
    design = design_guest({"clock": {"timer": {"hpet": {"tickPolicy": "merge"}}}})
    assert list_notes(design) == {"clock.timer.hpet.tickPolicy": "QEMU's HPET supports only delay, not merge"}


@pytest.mark.parametrize(
    ("timer", "refusals"),
    [
        pytest.param(
            {"rtc": {"tickPolicy": "merge", "track": "moon"}},
            {
                "clock.timer.rtc.tickPolicy": "unsupported value merge: use one of delay, catchup",
                "clock.timer.rtc.track": "unsupported value moon: use one of guest, wall",
            },
            id="RTC",
        ),
        pytest.param(
            {"pit": {"tickPolicy": "merge"}},
            {"clock.timer.pit.tickPolicy": "unsupported value merge: use one of delay, catchup, discard"},
            id="PIT",
        ),
        pytest.param(
            {"hpet": {"tickPolicy": "stop"}},
            {"clock.timer.hpet.tickPolicy": "unsupported value stop: use one of delay, catchup, merge, discard"},
            id="HPET",
        ),
    ],
)
def test_unsupported_timer_option_is_refused(timer: JsonObject, refusals: dict[str, str]) -> None:
    assert list_refusals(design_guest({"clock": {"timer": timer}})) == refusals


def test_pc_timers_are_refused_on_other_architectures() -> None:
    host = replace(ACCELERATED, architecture="arm64", machine_types=frozenset({"virt"}))
    design = design_guest({"clock": {"timer": {"pit": {}, "hpet": {"present": False}}}}, host=host)
    assert list_refusals(design) == {"clock.timer.pit": "is supported only for amd64 guests"}

import threading
from pathlib import Path

import pytest

from virtshape.launcher.controlprotocol import Answer, Kill, Pause, Request, Status, Stop
from virtshape.launcher.guest.earlyrequests import EarlyRequestHandler
from virtshape.launcher.guest.reportpublisher import ReportPublisher
from virtshape.launcher.report import Report


@pytest.fixture
def starting(tmp_path: Path) -> EarlyRequestHandler:
    return EarlyRequestHandler(ReportPublisher(tmp_path / "report.json", Report()), None)


def test_guest_status_is_available_during_preparation(starting: EarlyRequestHandler) -> None:
    assert starting.answer(Status()) == Answer(report=Report())
    assert starting.stop is None


@pytest.mark.parametrize(
    ("requests", "grace"),
    [
        pytest.param([Stop(grace=30)], 30, id="stop"),
        pytest.param([Stop(grace=30), Kill(), Stop(grace=10)], 0, id="shortest grace period wins"),
    ],
)
def test_stop_request_before_the_start_is_saved_with_its_grace_period(
    starting: EarlyRequestHandler, requests: list[Request], grace: float
) -> None:
    for request in requests:
        assert starting.answer(request) == Answer(report=Report())
    assert starting.stop == grace


def test_early_requests_other_than_stop_wait_until_the_guest_has_started(starting: EarlyRequestHandler) -> None:
    threading.Timer(
        0.02, starting.finish, [lambda request: Answer(error=f"{type(request).__name__} was passed on")]
    ).start()
    assert starting.answer(Pause()) == Answer(error="Pause was passed on")
    assert starting.answer(Stop(grace=1)) == Answer(error="Stop was passed on")
    assert starting.stop is None


def test_requests_to_a_guest_that_failed_to_start_get_an_error(starting: EarlyRequestHandler) -> None:
    starting.finish()
    assert starting.answer(Pause()) == Answer(error="the guest has ended", report=Report())

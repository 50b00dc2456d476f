import os
import threading
import time
from pathlib import Path

from virtshape.launcher.guest.plan import Plan
from virtshape.launcher.guest.planprocess import Preparation
from virtshape.launcher.report import Report

NOTHING = "preparing the guest failed; see the launcher's log"


def test_plan_is_returned_from_another_process(tmp_path: Path) -> None:
    preparation = Preparation(lambda directory: Plan(name=str(os.getpid()), xml=str(directory)), tmp_path)
    plan = preparation.wait()
    assert isinstance(plan, Plan)
    assert plan.xml == str(tmp_path)
    assert plan.name != str(os.getpid())


def test_planning_process_returns_the_report_of_a_refused_guest(tmp_path: Path) -> None:
    refused = Report(state="failed", reason="NotPossibleHere", message="no")
    assert Preparation(lambda _: refused, tmp_path).wait() == refused


def test_exception_during_planning_is_returned_as_a_report(tmp_path: Path) -> None:
    def fail(_: Path) -> Plan:
        raise KeyError("a mistake")

    assert Preparation(fail, tmp_path).wait() == Report(state="failed", reason="NotStarted", message=NOTHING)


def test_planning_process_can_be_cancelled(tmp_path: Path) -> None:
    def take_long(_: Path) -> Plan:
        time.sleep(600)
        raise AssertionError

    preparation = Preparation(take_long, tmp_path)
    threading.Timer(0.05, preparation.cancel).start()
    assert preparation.wait() == Report(state="failed", reason="NotStarted", message=NOTHING)

"""The QEMU runtime across restarts of the controllers."""

from pathlib import Path
from typing import Any

import pytest

from virtshape.launcher.host import Host
from virtshape.launcher.netns.probe import IsolationProbe
from virtshape.launcher.report import Report
from virtshape.standalone.guests import qemuruntime as module
from virtshape.standalone.guests.qemuruntime import QemuRuntime
from virtshape.supervise.supervisor import Supervisor


class FakeGuests:
    """Fake guests that record their observers."""

    def __init__(self, *_: Any) -> None:
        self.observers: list[Any] = []

    def observe(self, observer: Any) -> None:
        """Record an observer."""
        self.observers.append(observer)

    def adopt(self) -> None:
        """Do nothing."""


async def test_controllers_replace_the_observer_of_guest_reports_when_they_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def probe(*_: Any) -> Any:
        return Host()

    async def probe_network(*_: Any) -> Any:
        return IsolationProbe("namespace")

    guests = FakeGuests()
    monkeypatch.setattr(module, "Guests", lambda *_: guests)
    monkeypatch.setattr(module, "probe_host", probe)
    monkeypatch.setattr(module, "probe_isolation", probe_network)
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "ca.crt").write_text("authority")
    woken: list[tuple[int, str, str]] = []

    async def restart(runtime: QemuRuntime, number: int) -> None:
        launcher = await runtime.make_launcher(None, None, None, object())  # type: ignore[arg-type]  # not called
        launcher.observe(lambda namespace, name: woken.append((number, namespace, name)))
        launcher._named["uid"] = ("default", "web")  # noqa: SLF001 - as `launch` does, which needs a guest

    runtime = QemuRuntime(tmp_path, Supervisor())
    for number in range(3):
        await restart(runtime, number)
    for observer in guests.observers:
        observer("uid", Report())
    assert len(guests.observers) == 1
    assert woken == [(2, "default", "web")]

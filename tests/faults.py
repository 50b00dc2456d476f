"""Faults in background tasks, for tests: every task of one name fails once, a moment after it was started."""

import asyncio
from typing import Any

import pytest

from virtshape.supervise.supervisor import Backoff, Run, SupervisedTask, Supervisor
from virtshape.supervise.tasks import TaskKind

FAULT = "injected fault"
BACKOFF = Backoff(first=2.0, healthy=1.0)
"""Long enough to be seen, short enough for tests."""
_MOMENT = 0.3


class Fault:
    """Makes the tasks of one name fail at their first run, in all supervisors of this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self._name = name
        self._start = Supervisor.start
        self.injected = 0
        self.restarted = 0
        fault = self

        def start(
            supervisor: Supervisor, kind: TaskKind, run: Run, *, item: str = "", finishes: bool = False
        ) -> SupervisedTask:
            faulty = fault._break(run, finishes=finishes) if kind.name == name else run
            return fault._start(supervisor, kind, faulty, item=item, finishes=finishes)

        original = Supervisor.__init__

        def initialize(supervisor: Supervisor, backoff: Backoff = BACKOFF) -> None:
            original(supervisor, backoff)

        monkeypatch.setattr(Supervisor, "start", start)
        monkeypatch.setattr(Supervisor, "__init__", initialize)

    def _break(self, run: Run, *, finishes: bool) -> Run:
        runs = 0

        async def faulty() -> None:
            nonlocal runs
            runs += 1
            if runs > 1:
                self.restarted += 1
                await run()
                return
            if not finishes:
                await self._run_for_a_moment(run)
            self.injected += 1
            raise RuntimeError(FAULT)

        return faulty

    async def _run_for_a_moment(self, run: Run) -> None:
        async def go() -> Any:
            await run()

        task = asyncio.create_task(go())
        await asyncio.wait({task}, timeout=_MOMENT)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

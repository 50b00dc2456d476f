"""Fault injection: every background task with one name fails until it is repaired."""

import asyncio
from typing import Any

import pytest

from virtshape.supervise.failures import Backoff
from virtshape.supervise.supervisor import Run, SupervisedTask, Supervisor
from virtshape.supervise.tasks import TaskKind

FAULT = "injected fault"
BACKOFF = Backoff(first=0.1, longest=0.5, healthy=0.6)
_MOMENT = 0.3


class Fault:
    """Makes all tasks with one name fail, in all supervisors of this process, until `repair` is called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self._start = Supervisor.start
        self._is_repaired = False
        self.injected = 0
        """The number of tasks that have failed."""
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

    def repair(self) -> None:
        """Stop injecting failures."""
        self._is_repaired = True

    def _break(self, run: Run, *, finishes: bool) -> Run:
        runs = 0

        async def faulty() -> None:
            nonlocal runs
            runs += 1
            if self._is_repaired:
                await run()
                return
            if runs == 1:
                self.injected += 1
                if not finishes:
                    await self._run_for_a_moment(run)
            raise RuntimeError(FAULT)

        return faulty

    async def _run_for_a_moment(self, run: Run) -> None:
        async def go() -> Any:
            await run()

        task = asyncio.create_task(go())
        await asyncio.wait({task}, timeout=_MOMENT)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

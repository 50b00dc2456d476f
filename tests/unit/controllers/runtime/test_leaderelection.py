"""Leader election: acquiring, renewing and releasing the lease, and fencing."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.systems import open_system

from virtshape.api.coordination import Lease, LeaseSpec
from virtshape.api.status import StatusError
from virtshape.client.errors import UnreachableError
from virtshape.client.protocol import Client
from virtshape.controllers.runtime.clients import FencedClient
from virtshape.controllers.runtime.leaderelection import (
    LeaderElectionConfig,
    LeaderElector,
    ObservedLease,
    decide_action,
    format_micro_time,
)

HELD = LeaseSpec(holder_identity="other", lease_duration_seconds=15)

CASES: dict[str, tuple[ObservedLease | None, float, str]] = {
    "without a lease": (None, 0, "take"),
    "released": (ObservedLease(LeaseSpec(holder_identity="", lease_duration_seconds=1), 100), 100, "take"),
    "ours": (ObservedLease(LeaseSpec(holder_identity="me", lease_duration_seconds=15), 0), 1000, "renew"),
    "held and just renewed": (ObservedLease(HELD, 100), 100, "wait"),
    "held and about to expire": (ObservedLease(HELD, 100), 114.9, "wait"),
    "held and expired": (ObservedLease(HELD, 100), 115, "take"),
}


@pytest.mark.parametrize(("observed", "now", "verdict"), CASES.values(), ids=CASES.keys())
def test_action_of_a_candidate_depends_on_the_observed_lease(
    observed: ObservedLease | None, now: float, verdict: str
) -> None:
    assert decide_action(observed, "me", now) == verdict


@pytest.mark.parametrize("config", [(10, 10, 2), (15, 2, 2), (15, 10, 0)], ids=["no margin", "one try", "no pause"])
def test_unsafe_leader_election_timing_is_rejected(config: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="must exceed the renew deadline"):
        LeaderElectionConfig(*config)


def test_lease_time_has_six_fractional_digits() -> None:
    assert format_micro_time(1_800_000_000) == "2027-01-15T08:00:00.000000Z"


QUICK = LeaderElectionConfig(duration=2.0, deadline=1.5, retry=0.05)


class FakeClock:
    """A fake clock whose time is set by tests."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class DisconnectableClient:
    """A client that tests can disconnect."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.is_disconnected = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        async def call(*given: Any, **named: Any) -> Any:
            if self.is_disconnected:
                raise UnreachableError("disconnected")
            return await method(*given, **named)

        return call


class Candidate:
    """A candidate for leadership whose name is in `leaders` while it leads."""

    def __init__(self, client: Client, name: str, leaders: set[str], clock: FakeClock) -> None:
        self.client = DisconnectableClient(client)
        self.elector = LeaderElector(self.client, "leader", "default", name, QUICK, clock=clock)
        self._name = name
        self._leaders = leaders
        self.began = asyncio.Event()
        self.task = asyncio.create_task(self.elector.lead(self._work))

    async def _work(self) -> None:
        assert not self._leaders, "there are two leaders"
        self._leaders.add(self._name)
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self._leaders.discard(self._name)

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def wait_until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.01)


async def wait_for_renewal(client: Client) -> None:
    """Wait until the lease was renewed twice; the first renewal may have started before."""
    before = None
    for _ in range(3):
        while (lease := await client.get(Lease, "leader", "default")).spec == before:
            await asyncio.sleep(0.01)
        before = lease.spec


@asynccontextmanager
async def open_client(directory: Path) -> AsyncIterator[Client]:
    async with open_system("in-process", directory) as system:
        yield system.client


async def test_second_candidate_leads_after_the_lease_is_released(tmp_path: Path) -> None:
    async with open_client(tmp_path) as client:
        leaders: set[str] = set()
        clock = FakeClock()
        first = Candidate(client, "a", leaders, clock)
        await first.began.wait()
        second = Candidate(client, "b", leaders, clock)
        for _ in range(8):  # twice the lease duration in total
            clock.now += QUICK.duration / 4
            await wait_for_renewal(client)
        await wait_until(lambda: second.elector.holder == "a")
        assert (leaders, second.elector.is_leading) == ({"a"}, False)
        await first.stop()
        lease = await client.get(Lease, "leader", "default")
        assert lease.spec is not None
        assert lease.spec.holder_identity in ("", None, "b")
        await second.began.wait()  # the clock has not advanced, so the lease was released
        assert leaders == {"b"}
        lease = await client.get(Lease, "leader", "default")
        assert lease.spec is not None
        assert (lease.spec.holder_identity, lease.spec.lease_transitions) == ("b", 1)
        await second.stop()


async def test_leader_that_cannot_renew_its_lease_stops_before_another_leads(tmp_path: Path) -> None:
    async with open_client(tmp_path) as client:
        leaders: set[str] = set()
        clock = FakeClock()
        first = Candidate(client, "a", leaders, clock)
        await first.began.wait()
        second = Candidate(client, "b", leaders, clock)
        await wait_until(lambda: second.elector.holder == "a")
        first.client.is_disconnected = True
        clock.now += (QUICK.deadline + QUICK.duration) / 2
        await wait_until(first.task.done)
        await asyncio.sleep(5 * QUICK.retry)
        assert (leaders, second.began.is_set()) == (set(), False)
        clock.now += QUICK.duration
        await second.began.wait()
        assert leaders == {"b"}
        await second.stop()


async def test_failed_leader_raises_and_releases_the_lease(tmp_path: Path) -> None:
    async with open_client(tmp_path) as client:

        async def fail() -> None:
            raise StatusError(403, "Forbidden", "no")

        with pytest.raises(StatusError, match="no"):
            await LeaderElector(client, "leader", "default", "a", QUICK).lead(fail)
        lease = await client.get(Lease, "leader", "default")
        assert lease.spec is not None
        assert not lease.spec.holder_identity


async def test_fenced_client_reads_always_but_writes_only_while_leading(tmp_path: Path) -> None:
    async with open_client(tmp_path) as client:
        leaders: set[str] = set()
        fenced: Any = FencedClient(client, lambda: bool(leaders))
        assert (await fenced.list(Lease)).items == []
        with pytest.raises(UnreachableError, match="no longer holds the leader lease"):
            await fenced.delete(Lease, "leader", "default")
        leaders.add("me")
        with pytest.raises(StatusError, match="not found"):
            await fenced.delete(Lease, "leader", "default")

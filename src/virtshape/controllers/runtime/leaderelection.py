"""
Leader election with a Lease and the default timing of Kubernetes' own components.

A candidate acquires the lease if the lease was not renewed for its whole duration, measured with the candidate's clock.
A leader that cannot renew the lease stops its work before the lease expires.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from virtshape.api.coordination import Lease, LeaseSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.api.times import Clock
from virtshape.client.errors import UnreachableError
from virtshape.client.protocol import Client

JITTER: Final = 1.2
_log = logging.getLogger(__name__)


class LeaderElectionConfig(Struct, frozen=True):
    """Lease duration, renew deadline and retry period, in seconds."""

    duration: float = 15.0
    deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not self.duration > self.deadline > self.retry * JITTER > 0:
            raise ValueError("the lease duration must exceed the renew deadline, which must exceed 1.2 retry periods")


class ObservedLease(Struct, frozen=True):
    """The last observed lease spec, and the local time at which it was first seen."""

    spec: LeaseSpec
    since: float


def decide_action(observed: ObservedLease | None, identity: str, now: float) -> Literal["take", "renew", "wait"]:
    """Return whether a candidate may acquire the lease, may renew it, or must wait."""
    if observed is None or not observed.spec.holder_identity:
        return "take"
    if observed.spec.holder_identity == identity:
        return "renew"
    return "take" if now >= observed.since + (observed.spec.lease_duration_seconds or 0) else "wait"


class LeaderElector:
    """Acquires and renews one lease under one identity."""

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str,
        identity: str,
        config: LeaderElectionConfig = LeaderElectionConfig(),  # noqa: B008 - it cannot be changed
        *,
        clock: Clock = time.monotonic,
    ) -> None:
        self._client = client
        self._name = name
        self._namespace = namespace
        self._identity = identity
        self._config = config
        self._clock = clock
        self._lease: Lease | None = None
        self._observed: ObservedLease | None = None
        self._leading_until = float("-inf")
        self._read_at = float("-inf")

    @property
    def is_leading(self) -> bool:
        """True while this process certainly holds the lease."""
        return self._clock() < self._leading_until

    @property
    def holder(self) -> str:
        """Identity of the last observed holder; empty if unknown."""
        return (self._observed.spec.holder_identity if self._observed is not None else None) or ""

    @property
    def has_recent_lease(self) -> bool:
        """True if the lease was read within the lease duration."""
        return self._clock() < self._read_at + self._config.duration

    async def lead(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """
        Wait for the lease, then run `work` until it ends or the lease is lost; release the lease afterwards.

        If `work` fails, its exception is raised after the release.
        """
        await self._acquire()
        _log.info("%s became the leader", self._identity)
        working = asyncio.create_task(work(), name="leading")
        renewing = asyncio.create_task(self._renew_forever(), name="renewing")
        try:
            await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (working, renewing):
                task.cancel()
            outcomes = await asyncio.gather(working, renewing, return_exceptions=True)
            await self._release()
        errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        if errors:
            raise errors[0] if len(errors) == 1 else ExceptionGroup("leading and renewing the lease failed", errors)

    async def _acquire(self) -> None:
        while not await self._try_acquire_or_renew():
            await self._pause()

    async def _renew_forever(self) -> None:
        """Renew the lease until the renew deadline is exceeded."""
        while self.is_leading:
            await self._pause()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(self._leading_until - self._clock(), 0)):
                    while not await self._try_acquire_or_renew() and self.is_leading:
                        await self._pause()
        _log.warning(
            "%s lost leadership: the lease could not be renewed in time; stopping the controllers", self._identity
        )

    async def _pause(self) -> None:
        await asyncio.sleep(self._config.retry * random.uniform(1, JITTER))  # noqa: S311 - no secret

    async def _try_acquire_or_renew(self) -> bool:
        """Acquire or renew the lease if possible; return True if this process holds it."""
        began = self._clock()
        try:
            async with asyncio.timeout(self._config.deadline / 2):
                await self._read_lease()
                if decide_action(self._observed, self._identity, self._clock()) == "wait":
                    self._leading_until = float("-inf")
                    return False
                await self._write_claim()
        except (StatusError, UnreachableError, TimeoutError) as error:
            _log.info(
                "acquiring or renewing lease %s/%s failed: %s; retrying",
                self._namespace,
                self._name,
                str(error) or "timed out",
            )
            return False
        self._leading_until = began + self._config.deadline
        return True

    async def _read_lease(self) -> None:
        try:
            lease = await self._client.get(Lease, self._name, self._namespace)
        except StatusError as error:
            if error.code != 404:
                raise
            lease = None
        now = self._read_at = self._clock()
        self._observe(lease, now)

    def _observe(self, lease: Lease | None, now: float) -> None:
        self._lease = lease
        spec = lease.spec if lease is not None else None
        if spec is None:
            self._observed = None
        elif self._observed is None or self._observed.spec != spec:
            self._observed = ObservedLease(spec, now)

    async def _write_claim(self) -> None:
        stamp = format_micro_time(time.time())
        before = self._observed.spec if self._observed is not None else LeaseSpec()
        is_ours = before.holder_identity == self._identity
        spec = LeaseSpec(
            acquire_time=before.acquire_time if is_ours else stamp,
            holder_identity=self._identity,
            lease_duration_seconds=max(1, round(self._config.duration)),
            lease_transitions=(before.lease_transitions or 0) + (not is_ours and self._lease is not None),
            renew_time=stamp,
        )
        self._observe(await self._write(spec), self._clock())

    async def _write(self, spec: LeaseSpec) -> Lease:
        if self._lease is not None:
            return await self._client.update(replace(self._lease, spec=spec))
        metadata = ObjectMeta(name=self._name, namespace=self._namespace)
        lease = Lease(api_version="coordination.k8s.io/v1", kind="Lease", metadata=metadata, spec=spec)
        return await self._client.create(lease)

    async def _release(self) -> None:
        """Release the lease, so that another candidate can acquire it at once."""
        was_ours, self._leading_until = self.is_leading, float("-inf")
        if not was_ours:
            return
        try:
            async with asyncio.timeout(self._config.deadline / 2):
                await self._write_release()
        except (StatusError, UnreachableError, TimeoutError) as error:
            _log.warning(
                "releasing lease %s/%s failed: %s; it expires without a renewal", self._namespace, self._name, error
            )

    async def _write_release(self) -> None:
        """Clear the holder of the lease; retry if a renewal that is still in progress changes the lease."""
        while True:
            await self._read_lease()
            if self._observed is None or self.holder != self._identity:
                return
            try:
                await self._write(_make_released_spec(self._observed.spec))
            except StatusError as error:
                if error.code != 409:
                    raise
            else:
                return


def _make_released_spec(held: LeaseSpec) -> LeaseSpec:
    stamp = format_micro_time(time.time())
    return LeaseSpec(
        acquire_time=stamp,
        holder_identity="",
        lease_duration_seconds=1,
        lease_transitions=held.lease_transitions,
        renew_time=stamp,
    )


def format_micro_time(seconds: float) -> str:
    """Format a Unix timestamp with microseconds, as in Lease objects."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

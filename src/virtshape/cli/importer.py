"""
Create the objects of an import plan on a server, and report the result for each object.

Existing objects are compared with the plan and changed only if the caller requests this. An import that was
interrupted can be repeated.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import to_tree
from virtshape.api.core.namespace import Namespace
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.cli.errors import convert_error
from virtshape.cli.progress import Progress
from virtshape.client.rest import RestClient
from virtshape.engine.compare import Change
from virtshape.offline.importcompare import (
    compare_imported,
    follow_upgrades,
    get_body,
    has_other_revisions,
    merge_stored,
    plan_owners,
)
from virtshape.offline.importplan import Dropped, ImportPlan, Skipped, Step, list_needs
from virtshape.resolve.reference import Reference
from virtshape.resolve.revisions import list_successors

Result = Literal["created", "updated", "unchanged", "differs", "skipped", "failed"]
CONCURRENCY: Final = 16
"""Maximum number of concurrent requests."""
NOT_VALIDATED: Final = "not validated: the objects that it needs do not exist yet"
NO_ACCESS: Final = "the user may not read or create the namespace; it must already exist"
KEPT: Final = "an object with this name exists with other values and is kept; use --overwrite to update it"


class Outcome(NamedTuple):
    """The result for one object; `changes` are the fields whose values on the server differ from the dump."""

    api_version: str
    kind: str
    namespace: str
    name: str
    result: Result
    message: str = ""
    changes: tuple[Change, ...] = ()
    dropped: tuple[Dropped, ...] = ()


class Importer:
    """Creates the objects of a plan on a server; with `dry_run`, the server only validates them."""

    def __init__(self, client: RestClient, *, dry_run: bool = False, overwrite: bool = False) -> None:
        self._client = client
        self._dry_run = dry_run
        self._overwrite = overwrite
        self._stored: dict[Reference, Any] = {}
        self._pending: set[Reference] = set()
        self._successors: dict[str, dict[str, str]] = {}

    async def run(self, plan: ImportPlan) -> list[Outcome]:
        """Import all objects; continue with the other objects if one fails."""
        outcomes: list[Outcome] = []
        progress = Progress("objects imported")
        for steps in split(plan.steps):
            outcomes += await asyncio.gather(*map(self._import, steps))
            progress.show(len(outcomes), len(plan.steps))
        progress.clear()
        if not self._dry_run:
            outcomes = await self._set_all_owners(plan.steps, outcomes)
        return [*outcomes, *map(describe_skipped, plan.skipped)]

    async def _import(self, step: Step) -> Outcome:
        try:
            stored = await self._find(step)
            if stored is not None:
                return await self._compare(step, stored)
            successor = await self._find_successor(step)
            if successor:
                return _conclude(step, "unchanged", f"the server replaced it with {successor}")
            return await self._create(step)
        except StatusError as error:
            if error.code == 403 and isinstance(step.item, Namespace):  # objects in the namespace may still be imported
                return _conclude(step, "skipped", NO_ACCESS)
            return _conclude(step, "failed", describe_error(error))

    async def _find(self, step: Step) -> Any:
        at = step.reference
        try:
            return await self._client.get(type(step.item), at.name, at.namespace)
        except StatusError as error:
            if error.code != 404:
                raise
            return None

    async def _create(self, step: Step) -> Outcome:
        if self._dry_run:
            self._pending.add(step.reference)
            if any(need in self._pending for need in list_needs(step.item)):
                return _conclude(step, "created", NOT_VALIDATED, step.changes)
        stored = await self._client.create(get_body(step.item), dry_run=self._dry_run)
        self._stored[step.reference] = stored
        return _conclude(step, "created", changes=(*step.changes, *compare_imported(step.item, stored)))

    async def _compare(self, step: Step, stored: Any) -> Outcome:
        self._stored[step.reference] = stored
        wanted = await self._follow_upgrades(step.item, stored)
        changes = compare_imported(wanted, stored, stated_only=True)
        if not changes:
            return _conclude(step, "unchanged")
        if not self._overwrite:
            return _conclude(step, "differs", KEPT, changes)
        written = await self._client.update(merge_stored(wanted, stored), dry_run=self._dry_run)
        return _conclude(step, "updated", changes=(*step.changes, *compare_imported(wanted, written)))

    async def _follow_upgrades(self, wanted: Any, stored: Any) -> Any:
        """Return the planned object; in a VM, replace revisions that were upgraded after an earlier import."""
        if not has_other_revisions(wanted, stored):
            return wanted
        return follow_upgrades(wanted, stored, await self._list_successors(wanted.metadata.namespace or ""))

    async def _find_successor(self, step: Step) -> str:
        """Return the name of the revision that replaced this one after an earlier import; empty if there is none."""
        if not isinstance(step.item, ControllerRevision):
            return ""
        successors = await self._list_successors(step.reference.namespace)
        return successors.get(step.reference.name, "")

    async def _list_successors(self, namespace: str) -> dict[str, str]:
        """Return the names of upgraded revisions by the name of the revision that each replaces."""
        if namespace not in self._successors:
            listing = await self._client.list(ControllerRevision, namespace)
            self._successors[namespace] = list_successors(listing.items)
        return self._successors[namespace]

    async def _set_all_owners(self, steps: Sequence[Step], outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Set the owner references of all objects; return the updated outcomes."""
        results: list[Outcome] = []
        progress = Progress("owners set")
        set_owners = partial(self._set_owners, {place: found.metadata for place, found in self._stored.items()})
        for start in range(0, len(steps), CONCURRENCY):
            part = slice(start, start + CONCURRENCY)
            results += await asyncio.gather(*map(set_owners, steps[part], outcomes[part]))
            progress.show(len(results), len(steps))
        progress.clear()
        return results

    async def _set_owners(self, known: Mapping[Reference, ObjectMeta], step: Step, outcome: Outcome) -> Outcome:
        """Set the owner references of an object, with the UIDs that its owners have on this server."""
        if step.reference not in known or not step.owners:
            return outcome
        owners = plan_owners(step, known)
        if owners.wanted is not None:
            patch = {"metadata": {"ownerReferences": to_tree(owners.wanted)}}
            at = step.reference
            try:
                await self._client.patch(type(step.item), at.name, at.namespace, patch=patch)
            except StatusError as error:
                if error.code != 404:  # a controller may already have removed the object
                    return _conclude(step, "failed", f"setting its owners: {describe_error(error)}", outcome.changes)
        return outcome._replace(dropped=(*outcome.dropped, *owners.dropped))


def split(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Yield the steps in order, in groups of objects of one kind that can be created at the same time."""
    for _, group in groupby(steps, key=lambda step: (step.reference.group, step.reference.kind)):
        same = list(group)
        yield from (same[start : start + CONCURRENCY] for start in range(0, len(same), CONCURRENCY))


def describe_skipped(skipped: Skipped) -> Outcome:
    """Return the outcome for an object that is not imported."""
    return Outcome(skipped.api_version, skipped.kind, skipped.namespace, skipped.name, "skipped", skipped.reason)


def describe_error(error: StatusError) -> str:
    """Return a server error with all its causes, on one line."""
    converted = convert_error(error)
    return ": ".join(filter(None, (converted.message, "; ".join(converted.causes)))) if converted else error.message


def _conclude(step: Step, result: Result, message: str = "", changes: Sequence[Change] = ()) -> Outcome:
    at = step.reference
    dropped = tuple(step.dropped) if result in ("created", "updated") else ()
    return Outcome(step.item.api_version, at.kind, at.namespace, at.name, result, message, tuple(changes), dropped)

"""
Drift of VMs of a server: their revisions and the live objects are read, and compared here.

Gets and lists only, so it works at a stock KubeVirt too.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from virtshape.api.apps import ControllerRevision
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.cli.cluster import Cluster
from virtshape.cli.connection import Session
from virtshape.cli.machine import explain_refusal, read_machine
from virtshape.resolve.drift import Drift, find_drift
from virtshape.resolve.find import OBJECT_NAME_LABEL, namespace_of
from virtshape.resolve.matcher import KINDS, Role
from virtshape.resolve.reference import Lookup, Reference

Known = dict[Reference, Model | None]


class Holder(NamedTuple):
    """A VM that holds a revision, and how far that has drifted."""

    namespace: str
    vm: str
    drift: Drift


class Survey(NamedTuple):
    """All revisions that VMs hold, and what could not be compared."""

    holders: list[Holder]
    problems: list[str]


class Reading(NamedTuple):
    """VMs, and objects that they may lead to; None for one that is not there."""

    vms: Sequence[VirtualMachine]
    known: Known


async def survey_named(session: Session, names: Sequence[str]) -> Survey:
    """Compare what some VMs of the namespace hold."""
    return await _survey(session, await read_named(session, names))


async def survey_all(session: Session, namespace: str) -> Survey:
    """Compare what all VMs of a namespace hold, or with none all of the server."""
    return await _survey(session, await read_all(session, namespace))


async def read_named(session: Session, names: Sequence[str], action: str = "drift") -> Reading:
    """Some VMs of the namespace."""
    return Reading([await _get(session, read_machine(name), action) for name in names], {})


async def read_all(session: Session, namespace: str) -> Reading:
    """All VMs of a namespace, or with none all of the server, and the revisions there are."""
    listing = await session.client.list(VirtualMachine, namespace)
    return Reading(listing.items, await _list_revisions(session, namespace))


async def complete(session: Session, known: Known, look_up: Callable[[Lookup], object]) -> None:
    """Have things looked up, and fetch what is asked for, until nothing more is asked for."""
    cluster = Cluster(session)
    while True:
        asked: dict[Reference, None] = {}

        def look(reference: Reference, asked: dict[Reference, None] = asked) -> Model | None:
            if reference not in known:
                asked[reference] = None
            return known.get(reference)

        look_up(look)
        if not asked:
            return
        for reference in asked:
            known[reference] = await cluster.fetch(reference)


async def _get(session: Session, name: str, action: str) -> VirtualMachine:
    try:
        return await session.client.get(VirtualMachine, name, session.namespace)
    except StatusError as error:
        raise await explain_refusal(session, name, action, error) from error


async def _list_revisions(session: Session, namespace: str) -> Known:
    """The revisions at once, instead of one by one; none for a user who may not list them."""
    try:
        listing = await session.client.list(ControllerRevision, namespace, labels=OBJECT_NAME_LABEL)
    except StatusError as error:
        if error.code != 403:
            raise
        return {}
    return {
        Reference("apps", "ControllerRevision", each.metadata.namespace or "", each.metadata.name or ""): each
        for each in listing.items
        if each.metadata
    }


async def _survey(session: Session, reading: Reading) -> Survey:
    def look_up(lookup: Lookup) -> None:
        for vm in reading.vms:
            for role in KINDS:
                with suppress(StatusError):  # which is told when all is there
                    find_drift(vm, role, lookup)

    await complete(session, reading.known, look_up)
    return _compare(*reading)


def _compare(vms: Sequence[VirtualMachine], known: Known) -> Survey:
    survey = Survey([], [])
    for vm in vms:
        namespace, name = namespace_of(vm), (vm.metadata.name if vm.metadata else None) or ""
        for role in KINDS:
            try:
                drift = find_drift(vm, role, known.get)
            except StatusError as error:
                survey.problems.append(f"{namespace}/{name}: {describe(role)}: {error.message}")
            else:
                survey.holders.extend([] if drift is None else [Holder(namespace, name, drift)])
    return survey


def describe(role: Role) -> str:
    """The role in words."""
    return "instance type" if role == "instancetype" else role

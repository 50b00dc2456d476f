"""
Read VMs, their revisions and the live objects from a server, and compare them.

Uses only get and list, so it works with a stock KubeVirt too.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from virtshape.api.apps import ControllerRevision
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.api.wellknown import OBJECT_NAME_LABEL
from virtshape.cli.cluster import Cluster
from virtshape.cli.connection import Session
from virtshape.cli.vm import explain_vm_error, parse_vm_name
from virtshape.resolve.drift import Drift, find_drift
from virtshape.resolve.find import namespace_of
from virtshape.resolve.matcher import KINDS, Role
from virtshape.resolve.reference import Lookup, Reference

Known = dict[Reference, Model | None]


class Holder(NamedTuple):
    """A VM and the drift of one of its revisions."""

    namespace: str
    vm: str
    drift: Drift


class Survey(NamedTuple):
    """The drift of all VMs, and the revisions that could not be compared."""

    holders: list[Holder]
    problems: list[str]


class Reading(NamedTuple):
    """VMs and the objects that they refer to; None for an object that does not exist."""

    vms: Sequence[VirtualMachine]
    known: Known


async def survey_named(session: Session, names: Sequence[str]) -> Survey:
    """Compare the revisions of the named VMs."""
    return await _survey(session, await read_named(session, names))


async def survey_all(session: Session, namespace: str) -> Survey:
    """Compare the revisions of all VMs in a namespace, or in all namespaces if it is empty."""
    return await _survey(session, await read_all(session, namespace))


async def read_named(session: Session, names: Sequence[str], action: str = "drift") -> Reading:
    """Read the named VMs."""
    return Reading([await _get(session, parse_vm_name(name), action) for name in names], {})


async def read_all(session: Session, namespace: str) -> Reading:
    """Read all VMs in a namespace, or in all namespaces, and their revisions."""
    listing = await session.client.list(VirtualMachine, namespace)
    return Reading(listing.items, await _list_revisions(session, namespace))


async def fetch_missing(session: Session, known: Known, look_up: Callable[[Lookup], object]) -> None:
    """Call `look_up` and fetch the objects it misses, until none are missing."""
    cluster = Cluster(session)
    while True:
        missing: dict[Reference, None] = {}

        def look(reference: Reference, missing: dict[Reference, None] = missing) -> Model | None:
            if reference not in known:
                missing[reference] = None
            return known.get(reference)

        look_up(look)
        if not missing:
            return
        for reference in missing:
            known[reference] = await cluster.fetch(reference)


async def _get(session: Session, name: str, action: str) -> VirtualMachine:
    try:
        return await session.client.get(VirtualMachine, name, session.namespace)
    except StatusError as error:
        raise await explain_vm_error(session, name, action, error) from error


async def _list_revisions(session: Session, namespace: str) -> Known:
    """Return all revisions with one request; none if the user may not list them."""
    try:
        listing = await session.client.list(ControllerRevision, namespace, labels=OBJECT_NAME_LABEL)
    except StatusError as error:
        if error.code != 403:
            raise
        return {}
    return {
        Reference("apps", "ControllerRevision", each.metadata.namespace or "", each.metadata.name or ""): each
        for each in listing.items
    }


async def _survey(session: Session, reading: Reading) -> Survey:
    def look_up(lookup: Lookup) -> None:
        for vm in reading.vms:
            for role in KINDS:
                with suppress(StatusError):  # reported when all objects are fetched
                    find_drift(vm, role, lookup)

    await fetch_missing(session, reading.known, look_up)
    return _compare(*reading)


def _compare(vms: Sequence[VirtualMachine], known: Known) -> Survey:
    survey = Survey([], [])
    for vm in vms:
        namespace, name = namespace_of(vm), vm.metadata.name or ""
        for role in KINDS:
            try:
                drift = find_drift(vm, role, known.get)
            except StatusError as error:
                survey.problems.append(f"{namespace}/{name}: {describe(role)}: {error.message}")
            else:
                survey.holders.extend([] if drift is None else [Holder(namespace, name, drift)])
    return survey


def describe(role: Role) -> str:
    """Return the role in prose."""
    return "instance type" if role == "instancetype" else role

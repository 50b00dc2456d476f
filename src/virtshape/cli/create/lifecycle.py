"""
Warnings about deprecated and retired instance types and preferences in a new VM.

Warnings are printed only if the output is a terminal. Otherwise the manifest is for kubectl, which prints the server's
warnings.
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.cli.connection import Session, Target, run_session
from virtshape.cli.create.sizelimits import SECONDS
from virtshape.cli.errors import CommandError
from virtshape.cli.serverobjects import ServerObjects
from virtshape.engine.lifecycle import Use, check_use, read_lifecycle
from virtshape.resolve.find import refer
from virtshape.resolve.matcher import Role, find_matcher
from virtshape.resolve.reference import Reference

ROLES: tuple[Role, ...] = ("instancetype", "preference")


def check_named_objects(target: Target, vm: VirtualMachine) -> list[FieldError]:
    """Return a warning or error for each deprecated or retired object that the VM refers to and the user may read."""
    if not list(_list_references(vm)):
        return []

    async def read(session: Session) -> list[FieldError]:
        cluster = ServerObjects(session)
        placed = replace(vm, metadata=replace(vm.metadata, namespace=vm.metadata.namespace or session.namespace))
        found = [(role, reference, await cluster.fetch(reference)) for role, reference in _list_references(placed)]
        return [problem for each in found if (problem := _check(*each)) is not None]

    try:
        return run_session(target, read, call_seconds=SECONDS)
    except (CommandError, StatusError):  # no server, or no permission: the manifest is printed without warnings
        return []


def _list_references(vm: VirtualMachine) -> Iterator[tuple[Role, Reference]]:
    for role in ROLES:
        matcher = find_matcher(vm, role)
        if matcher is not None and matcher.name:
            yield role, refer(vm, role, matcher)


def _check(role: Role, reference: Reference, found: Any) -> FieldError | None:
    if found is None:
        return None
    use = Use(reference.kind, reference.name, f"spec.{role}.name", is_new=True)
    return check_use(use, read_lifecycle(found.metadata))

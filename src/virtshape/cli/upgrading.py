"""
Upgrades of VMs of a server: planned from what is read, carried out by clearing names of revisions.

What a server makes of that is its own: ours captures the objects anew, a stock KubeVirt once its status is cleared too.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.cli.connection import Session
from virtshape.cli.drifting import Reading, complete, read_all, read_named
from virtshape.cli.expanding import find_configuration
from virtshape.controllers.vm.upgrade import Upgrade, plan_upgrade, write_release, write_status_release
from virtshape.resolve.find import namespace_of
from virtshape.resolve.reference import Lookup


class Step(NamedTuple):
    """A VM, and what it would get."""

    vm: VirtualMachine
    upgrade: Upgrade

    @property
    def namespace(self) -> str:
        """Where the VM is."""
        return namespace_of(self.vm)

    @property
    def name(self) -> str:
        """What the VM is called."""
        return (self.vm.metadata.name if self.vm.metadata else None) or ""

    @property
    def is_running(self) -> bool:
        """Whether the VM has an instance, which keeps what it was started with."""
        return bool(self.vm.status and self.vm.status.created)


class Plan(NamedTuple):
    """What VMs would get, also those that would get nothing newer, and what could not be found out."""

    steps: list[Step]
    problems: list[str]


async def plan_named(session: Session, names: Sequence[str]) -> Plan:
    """What some VMs of the namespace would get."""
    return await _plan(session, await read_named(session, names, "upgrade"))


async def plan_all(session: Session, namespace: str) -> Plan:
    """What all VMs of a namespace would get, or with none all of the server."""
    return await _plan(session, await read_all(session, namespace))


async def carry_out(session: Session, steps: Sequence[Step], *, dry_run: bool) -> Plan:
    """Have the server do it, or only check it; the steps that it took on, and why it refused others."""
    plan = Plan([], [])
    for step in steps:
        try:
            await _release(session, step, dry_run=dry_run)
        except StatusError as error:
            plan.problems.append(f"{step.namespace}/{step.name}: {error.message}")
        else:
            plan.steps.append(step)
    return plan


async def _plan(session: Session, reading: Reading) -> Plan:
    configuration: KubeVirtConfiguration | None = await find_configuration(session)

    def look_up(lookup: Lookup) -> None:
        for vm in reading.vms:
            with suppress(StatusError):  # which is told when all is there
                plan_upgrade(vm, lookup, configuration)

    await complete(session, reading.known, look_up)
    plan = Plan([], [])
    for vm in reading.vms:
        try:
            plan.steps.append(Step(vm, plan_upgrade(vm, reading.known.get, configuration)))
        except StatusError as error:
            name = (vm.metadata.name if vm.metadata else None) or ""
            plan.problems.append(f"{namespace_of(vm)}/{name}: {error.message}")
    return plan


async def _release(session: Session, step: Step, *, dry_run: bool) -> None:
    client, roles = session.client, step.upgrade.roles
    patch = write_release(roles)
    released = await client.patch(VirtualMachine, step.name, step.namespace, patch=patch, dry_run=dry_run)
    further = write_status_release(released, roles)
    if further is not None:
        await client.patch(
            VirtualMachine, step.name, step.namespace, patch=further, subresource="status", dry_run=dry_run
        )

"""
Plan and apply upgrades of VMs by clearing the names of their revisions.

The server then stores new revisions; a stock KubeVirt does so when the VM's status is cleared too.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.cli.connection import Session
from virtshape.cli.driftsurvey import Reading, fetch_missing, read_all, read_named
from virtshape.cli.serverexpand import find_configuration
from virtshape.controllers.vm.upgrade import Upgrade, plan_upgrade, write_release, write_status_release
from virtshape.resolve.find import namespace_of
from virtshape.resolve.reference import Lookup


class Step(NamedTuple):
    """A VM and its upgrade."""

    vm: VirtualMachine
    upgrade: Upgrade

    @property
    def namespace(self) -> str:
        """The namespace of the VM."""
        return namespace_of(self.vm)

    @property
    def name(self) -> str:
        """The name of the VM."""
        return self.vm.metadata.name or ""

    @property
    def is_running(self) -> bool:
        """Whether the VM has an instance, which changes only at a restart."""
        return bool(self.vm.status and self.vm.status.created)


class Plan(NamedTuple):
    """The upgrades of all VMs, including empty ones, and the VMs that cannot be upgraded."""

    steps: list[Step]
    problems: list[str]


async def plan_named(session: Session, names: Sequence[str]) -> Plan:
    """Plan the upgrade of the named VMs."""
    return await _plan(session, await read_named(session, names, "upgrade"))


async def plan_all(session: Session, namespace: str) -> Plan:
    """Plan the upgrade of all VMs in a namespace, or in all namespaces if it is empty."""
    return await _plan(session, await read_all(session, namespace))


async def apply_plan(session: Session, steps: Sequence[Step], *, dry_run: bool) -> Plan:
    """Apply the steps on the server; return the applied steps and the errors of the others."""
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
            with suppress(StatusError):  # reported when all objects are fetched
                plan_upgrade(vm, lookup, configuration)

    await fetch_missing(session, reading.known, look_up)
    plan = Plan([], [])
    for vm in reading.vms:
        try:
            plan.steps.append(Step(vm, plan_upgrade(vm, reading.known.get, configuration)))
        except StatusError as error:
            name = vm.metadata.name or ""
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

"""
VMs expanded by a server, which knows its own instance types, preferences and revisions.

Where a field comes from no server says: for that, all that a VM refers to is fetched and the VM expanded here.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from virtshape.api.codec import duplicate, to_tree
from virtshape.api.kubevirt.configuration import KubeVirt
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.cli.cluster import Cluster
from virtshape.cli.connection import Session
from virtshape.cli.machine import explain_refusal, read_machine
from virtshape.client.actions import expand_sent, expand_stored
from virtshape.offline.expander import Expander
from virtshape.offline.expansion import ExpandedVM
from virtshape.offline.files import Entry
from virtshape.resolve.find import find_object
from virtshape.resolve.infer import infer_matchers
from virtshape.resolve.matcher import KINDS
from virtshape.resolve.reference import Reference


async def expand_machine(session: Session, text: str, *, explain: bool) -> ExpandedVM:
    """Expand a VM of the server."""
    name = read_machine(text)
    try:
        if explain:
            vm = await session.client.get(VirtualMachine, name, session.namespace)
            return await explain_with(session, vm)
        tree = await expand_stored(session.client, session.namespace, name)
    except StatusError as error:
        raise await explain_refusal(session, name, "expand", error) from error
    return ExpandedVM(name, without_managers(tree), [], [])


async def expand_entries(session: Session, entries: Sequence[Entry], *, explain: bool) -> list[ExpandedVM]:
    """Expand VMs of files with what the server has; one without a namespace is taken to be in the session's."""
    expanded = []
    for entry in entries:
        vm: VirtualMachine = entry.object
        namespace = (vm.metadata.namespace if vm.metadata else None) or session.namespace
        name = (vm.metadata.name if vm.metadata else None) or entry.place
        if explain:
            expanded.append(await explain_with(session, vm))
        else:
            tree = await expand_sent(session.client, namespace, entry.document.tree)
            expanded.append(ExpandedVM(name, without_managers(tree), [], []))
    return expanded


async def explain_with(session: Session, vm: VirtualMachine) -> ExpandedVM:
    """Expand a VM here, and say where each field comes from."""
    found = await gather(Cluster(session), vm)
    expander = Expander(found, configuration=await find_configuration(session))
    origins, warnings = expander.explain_in_place(vm)
    name = (vm.metadata.name if vm.metadata else None) or ""
    return ExpandedVM(name, without_managers(to_tree(vm)), origins, warnings)


async def gather(cluster: Cluster, vm: VirtualMachine) -> list[Model]:
    """All objects that the VM leads to: what is asked for is fetched until nothing more is asked for."""
    known: dict[Reference, Model | None] = {}
    while True:
        asked: list[Reference] = []

        def look(reference: Reference, asked: list[Reference] = asked) -> Model | None:
            if reference not in known:
                asked.append(reference)
            return known.get(reference)

        trial = duplicate(vm)
        with suppress(StatusError):  # which is told when all is there
            infer_matchers(trial, look)
        for role in KINDS:
            with suppress(StatusError):
                find_object(trial, role, look)
        if not asked:
            return [model for model in known.values() if model is not None]
        for reference in asked:
            known[reference] = await cluster.fetch(reference)


async def find_configuration(session: Session) -> Any:
    """The configuration in force; None where there is none, or none for this user to see."""
    try:
        installed = await session.client.get(KubeVirt, "kubevirt", "kubevirt")
    except StatusError:
        return None
    return installed.spec.configuration


def without_managers(tree: Any) -> Any:
    """The object without the record of who wrote which field, as kubectl shows it."""
    (tree.get("metadata") or {}).pop("managedFields", None)
    return tree

"""
Expand VMs on a server.

To explain the source of fields, which servers do not report, the objects are fetched and the VM is expanded locally.
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
from virtshape.cli.vm import explain_vm_error, parse_vm_name
from virtshape.client.actions import expand_sent, expand_stored
from virtshape.offline.expander import Expander
from virtshape.offline.expandfiles import ExpandedVM
from virtshape.offline.files import Entry
from virtshape.resolve.find import find_object
from virtshape.resolve.infer import infer_matchers
from virtshape.resolve.matcher import KINDS
from virtshape.resolve.reference import Reference


async def expand_stored_vm(session: Session, text: str, *, explain: bool) -> ExpandedVM:
    """Expand a VM stored on the server."""
    name = parse_vm_name(text)
    try:
        if explain:
            vm = await session.client.get(VirtualMachine, name, session.namespace)
            return await explain_locally(session, vm)
        tree = await expand_stored(session.client, session.namespace, name)
    except StatusError as error:
        raise await explain_vm_error(session, name, "expand", error) from error
    return ExpandedVM(name, remove_managed_fields(tree), [], [])


async def expand_entries(session: Session, entries: Sequence[Entry], *, explain: bool) -> list[ExpandedVM]:
    """Expand VMs of files on the server; a VM without a namespace uses the session's."""
    expanded = []
    for entry in entries:
        vm: VirtualMachine = entry.object
        namespace = vm.metadata.namespace or session.namespace
        name = vm.metadata.name or entry.place
        if explain:
            expanded.append(await explain_locally(session, vm))
        else:
            tree = await expand_sent(session.client, namespace, entry.document.tree)
            expanded.append(ExpandedVM(name, remove_managed_fields(tree), [], []))
    return expanded


async def explain_locally(session: Session, vm: VirtualMachine) -> ExpandedVM:
    """Expand a VM locally and return the source of each field."""
    found = await fetch_references(Cluster(session), vm)
    expander = Expander(found, configuration=await find_configuration(session))
    origins, warnings = expander.explain_in_place(vm)
    name = vm.metadata.name or ""
    return ExpandedVM(name, remove_managed_fields(to_tree(vm)), origins, warnings)


async def fetch_references(cluster: Cluster, vm: VirtualMachine) -> list[Model]:
    """Return all objects that the VM refers to, directly or indirectly."""
    known: dict[Reference, Model | None] = {}
    while True:
        missing: list[Reference] = []

        def look(reference: Reference, missing: list[Reference] = missing) -> Model | None:
            if reference not in known:
                missing.append(reference)
            return known.get(reference)

        trial = duplicate(vm)
        with suppress(StatusError):  # reported when all objects are fetched
            infer_matchers(trial, look)
        for role in KINDS:
            with suppress(StatusError):
                find_object(trial, role, look)
        if not missing:
            return [model for model in known.values() if model is not None]
        for reference in missing:
            known[reference] = await cluster.fetch(reference)


async def find_configuration(session: Session) -> Any:
    """Return the KubeVirt configuration, or None if it does not exist or the user may not read it."""
    try:
        installed = await session.client.get(KubeVirt, "kubevirt", "kubevirt")
    except StatusError:
        return None
    return installed.spec.configuration


def remove_managed_fields(tree: Any) -> Any:
    """Remove managedFields from the object, as kubectl does."""
    (tree.get("metadata") or {}).pop("managedFields", None)
    return tree

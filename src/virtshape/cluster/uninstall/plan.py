"""
Decide what an uninstall removes and what it keeps.

The functions are pure. Claims are never deleted: before the owner of a claim is deleted, the claim's reference to this
owner is removed.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.wellknown import KUBEVIRT
from virtshape.cluster.manifests.naming import name_component
from virtshape.cluster.uninstall.inventory import Inventory, ObjectRef
from virtshape.controllers.pods.persistentstateclaim import STATE_LABEL
from virtshape.controllers.storage.claimusage import list_claim_uses
from virtshape.controllers.vm.datavolumes import list_volume_names

DATA_VOLUME_DEFINITION: Final = "datavolumes.cdi.kubevirt.io"


class Plan(Struct, frozen=True, kw_only=True):
    """The steps of an uninstall, in the order in which they run, and the objects that it keeps."""

    controller: ObjectRef | None = None
    """The Deployment that would start guests again, and is therefore deleted first."""
    detached: Sequence[PersistentVolumeClaim | DataVolume] = ()
    """Claims and DataVolumes from which the references to deleted owners are removed."""
    ends_guests: bool = False
    """True if the launcher pods on the cluster belong to this installation."""
    guests: Sequence[VirtualMachineInstance] = ()
    vms: Sequence[VirtualMachine] = ()
    """VMs whose finalizer is removed."""
    deletes_vms: bool = False
    objects: Sequence[ObjectRef] = ()
    """Objects to delete after all guests have stopped."""
    definitions: Sequence[ObjectRef] = ()
    """CRDs to delete after all other objects and before the namespaces."""
    namespaces: Sequence[ObjectRef] = ()
    """Namespaces to delete last."""
    deleted_owners: frozenset[str] = frozenset()
    """UIDs of owners whose references are removed from `detached`."""
    kept: Sequence[str] = ()
    """Descriptions of the objects that stay on the cluster."""

    @property
    def is_empty(self) -> bool:
        """True if nothing is installed."""
        return not (self.objects or self.definitions or self.namespaces or self.controller)


def format_count(count: int, noun: str) -> str:
    """Return a number and a noun, which gets a plural `s` unless the number is 1."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def plan_uninstall(inventory: Inventory, *, with_definitions: bool) -> Plan:
    """Return the plan; with `with_definitions`, CRDs are deleted, and with them VMs, instance types and preferences."""
    definitions = inventory.definitions if with_definitions else []
    names = {one.name for one in definitions}
    controller = next((one for one in inventory.objects if _is_controller(one)), None)
    deleted_owners = frozenset(_list_deleted_owners(inventory, names))
    namespaces = [one for one in inventory.objects if one.kind == "Namespace"]
    deleted = [one for one in namespaces if _may_delete(one, inventory, names)]
    return Plan(
        controller=controller,
        detached=_list_owned(inventory, deleted_owners),
        ends_guests=inventory.owns_vms,
        guests=inventory.vmis,
        vms=inventory.vms,
        deletes_vms=with_definitions and inventory.owns_vms,
        objects=[
            one
            for one in inventory.objects
            if one != controller and one.kind not in ("Namespace", "CustomResourceDefinition")
        ],
        definitions=definitions,
        namespaces=deleted,
        deleted_owners=deleted_owners,
        kept=list(_list_kept(inventory, deleted, names)),
    )


def _is_controller(ref: ObjectRef) -> bool:
    return ref.kind == "Deployment" and ref.name == name_component("controller")


def _list_deleted_owners(inventory: Inventory, definitions: set[str]) -> Iterator[str]:
    """Yield the UIDs of objects that are or will be deleted and may own claims."""
    yield from (one.metadata.uid or "" for one in inventory.vmis)
    for vm in inventory.vms:
        if definitions or vm.metadata.deletion_timestamp is not None:
            yield vm.metadata.uid or ""
    if DATA_VOLUME_DEFINITION in definitions:
        yield from (one.metadata.uid or "" for one in inventory.data_volumes)


def _list_owned(inventory: Inventory, owners: frozenset[str]) -> list[PersistentVolumeClaim | DataVolume]:
    dependents: list[PersistentVolumeClaim | DataVolume] = [*inventory.data_volumes, *inventory.claims]
    return [one for one in dependents if _is_owned(one.metadata, owners)]


def _is_owned(metadata: ObjectMeta, owners: frozenset[str]) -> bool:
    return any(owner.uid in owners for owner in metadata.owner_references or ())


def _may_delete(namespace: ObjectRef, inventory: Inventory, definitions: set[str]) -> bool:
    """Return True if a namespace contains neither claims nor other objects that are kept."""
    if namespace.name == KUBEVIRT and namespace.name != inventory.namespace and not definitions:
        return False  # the namespace contains the configuration
    return not _list_inhabitants(namespace.name, inventory, with_vms=not definitions)


def _list_inhabitants(namespace: str, inventory: Inventory, *, with_vms: bool) -> list[str]:
    claims = [f"claim {one.metadata.name}" for one in inventory.claims if one.metadata.namespace == namespace]
    vms = [f"VM {one.metadata.name}" for one in inventory.vms if one.metadata.namespace == namespace]
    return [*claims, *(vms if with_vms else [])]


def _list_kept(inventory: Inventory, deleted: Sequence[ObjectRef], definitions: set[str]) -> Iterator[str]:
    for claim in _list_claims(inventory):
        yield f"PersistentVolumeClaim {claim.metadata.name} in namespace {claim.metadata.namespace}"
    if DATA_VOLUME_DEFINITION not in definitions:
        for volume in inventory.data_volumes:
            yield f"DataVolume {volume.metadata.name} in namespace {volume.metadata.namespace}"
    if not definitions:
        for vm in inventory.vms:
            if vm.metadata.deletion_timestamp is None:
                yield f"VirtualMachine {vm.metadata.name} in namespace {vm.metadata.namespace}, without its guest"
        if inventory.definitions:
            count = format_count(len(inventory.definitions), "CRD")
            yield f"{count}, with all instance types, preferences and the configuration"
    for namespace in inventory.objects:
        if namespace.kind == "Namespace" and namespace not in deleted:
            inside = _list_inhabitants(namespace.name, inventory, with_vms=not definitions)
            yield f"Namespace {namespace.name}, which contains {inside[0] if inside else 'the configuration'}"


def _list_claims(inventory: Inventory) -> Iterator[PersistentVolumeClaim]:
    """Yield the claims that VMs or instances use."""
    used = {(vm.metadata.namespace, name) for vm in inventory.vms for name in list_volume_names(vm)}
    for vmi in inventory.vmis:
        used |= {(vmi.metadata.namespace, use.claim) for use in list_claim_uses(vmi)}
    for claim in inventory.claims:
        if (claim.metadata.namespace, claim.metadata.name) in used or STATE_LABEL in (claim.metadata.labels or {}):
            yield claim

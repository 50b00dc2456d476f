"""The plan of an uninstall: objects that are deleted, and objects that are not."""

from typing import Any

import pytest
from tests.support.controllers import vm_tree
from tests.support.instances import build_vmi

from virtshape.api.cdi import DataVolume
from virtshape.api.codec import from_tree
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.cluster.uninstall.inventory import VM_DEFINITION, Inventory, ObjectRef, list_candidates, name_resource
from virtshape.cluster.uninstall.plan import DATA_VOLUME_DEFINITION, Plan, plan_uninstall

SYSTEM = "virtshape-system"
CONTROLLER = ObjectRef("apps/v1", "Deployment", "virtshape-controller", SYSTEM)
WEBHOOK = ObjectRef("apps/v1", "Deployment", "virtshape-webhook", SYSTEM)
CRD = "CustomResourceDefinition"
VMS = ObjectRef("apiextensions.k8s.io/v1", CRD, VM_DEFINITION)
DATA_VOLUMES = ObjectRef("apiextensions.k8s.io/v1", CRD, DATA_VOLUME_DEFINITION)
NAMESPACES = [ObjectRef("v1", "Namespace", "kubevirt"), ObjectRef("v1", "Namespace", SYSTEM)]


def build_vm(name: str = "vm1", *, namespace: str = "default", is_deleting: bool = False) -> VirtualMachine:
    tree = vm_tree(name)
    tree["metadata"] |= {"uid": f"{name}-uid", "namespace": namespace}
    if is_deleting:
        tree["metadata"]["deletionTimestamp"] = "2027-01-15T07:59:00Z"
    claim = {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}
    tree["spec"]["template"]["spec"]["volumes"] = [claim]
    return from_tree(tree, VirtualMachine)


def build_claim(name: str = "data", owner: str = "", namespace: str = "default") -> PersistentVolumeClaim:
    tree = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": _describe(name, owner, namespace)}
    return from_tree(tree, PersistentVolumeClaim)


def build_data_volume(owner: str = "") -> DataVolume:
    tree = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": _describe("disk", owner)}
    return from_tree({**tree, "spec": {}}, DataVolume)


def _describe(name: str, owner: str, namespace: str = "default") -> dict[str, Any]:
    reference = {"apiVersion": "v1", "kind": "Owner", "name": owner, "uid": owner}
    metadata = {"name": name, "namespace": namespace, "uid": f"{name}-uid"}
    return {**metadata, "ownerReferences": [reference] if owner else None}


def plan(*objects: ObjectRef, crds: bool = False, **found: Any) -> Plan:
    inventory = Inventory(namespace=SYSTEM, objects=[CONTROLLER, WEBHOOK, VMS, *objects, *NAMESPACES], **found)
    return plan_uninstall(inventory, with_definitions=crds)


def test_uninstall_deletes_the_controller_first_and_no_crds_vms_or_configuration() -> None:
    made = plan(vms=[build_vm()], vmis=[build_vmi()], claims=[build_claim()])
    assert (made.controller, made.objects, made.definitions) == (CONTROLLER, [WEBHOOK], [])
    assert (len(made.guests), len(made.vms), made.deletes_vms) == (1, 1, False)
    assert [one.name for one in made.namespaces] == [SYSTEM]
    assert made.kept == [
        "PersistentVolumeClaim data in namespace default",
        "VirtualMachine vm1 in namespace default, without its guest",
        "1 CRD, with all instance types, preferences and the configuration",
        "Namespace kubevirt, which contains the configuration",
    ]


def test_uninstall_with_crds_deletes_everything_but_claims() -> None:
    made = plan(crds=True, vms=[build_vm()], claims=[build_claim()])
    assert (made.definitions, made.deletes_vms) == ([VMS], True)
    assert [one.name for one in made.namespaces] == ["kubevirt", SYSTEM]
    assert made.kept == ["PersistentVolumeClaim data in namespace default"]


DETACHED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "claim of an instance": ({"vmis": [build_vmi()], "claims": [build_claim("state", "i1")]}, ["state"]),
    "claim of a kept VM": ({"vms": [build_vm()], "claims": [build_claim("state", "vm1-uid")]}, []),
    "claim of a VM with CRDs": (
        {"crds": True, "vms": [build_vm()], "claims": [build_claim("state", "vm1-uid")]},
        ["state"],
    ),
    "claim of a VM that is being deleted": (
        {"vms": [build_vm(is_deleting=True)], "claims": [build_claim("state", "vm1-uid")]},
        ["state"],
    ),
    "DataVolume of a VM with CRDs": (
        {"crds": True, "vms": [build_vm()], "data_volumes": [build_data_volume("vm1-uid")]},
        ["disk"],
    ),
    "claim of a kept DataVolume": (
        {"crds": True, "data_volumes": [build_data_volume()], "claims": [build_claim("disk", "disk-uid")]},
        [],
    ),
    "claim without an owner": ({"crds": True, "claims": [build_claim()]}, []),
}


@pytest.mark.parametrize(("found", "names"), DETACHED.values(), ids=DETACHED.keys())
def test_claims_are_detached_from_owners_that_are_deleted(found: dict[str, Any], names: list[str]) -> None:
    assert [one.metadata.name for one in plan(**found).detached] == names


def test_claims_are_detached_from_data_volumes_whose_crd_is_deleted() -> None:
    made = plan(DATA_VOLUMES, crds=True, data_volumes=[build_data_volume()], claims=[build_claim("disk", "disk-uid")])
    assert [one.metadata.name for one in made.detached] == ["disk"]


def test_uninstall_does_not_delete_a_namespace_with_a_claim() -> None:
    made = plan(crds=True, claims=[build_claim(namespace=SYSTEM)])
    assert [one.name for one in made.namespaces] == ["kubevirt"]
    assert made.kept == [f"Namespace {SYSTEM}, which contains claim data"]


def test_uninstall_alongside_kubevirt_stops_no_guests_and_deletes_no_vms() -> None:
    made = plan_uninstall(Inventory(namespace=SYSTEM, objects=[WEBHOOK, NAMESPACES[1]]), with_definitions=True)
    assert (made.ends_guests, made.deletes_vms, made.objects) == (False, False, [WEBHOOK])


def test_nothing_is_planned_if_nothing_is_installed() -> None:
    assert plan_uninstall(Inventory(namespace=SYSTEM), with_definitions=True).is_empty


def test_objects_are_deleted_in_the_reverse_order_of_their_installation() -> None:
    kinds = list(dict.fromkeys(ref.kind for ref in list_candidates(SYSTEM)))
    order = [kinds.index(kind) for kind in ("ValidatingWebhookConfiguration", "APIService", "Deployment", CRD)]
    assert order == sorted(order)
    assert kinds[-1] == "Namespace"


RESOURCES = {"Pod": "pods", "NetworkPolicy": "networkpolicies", "PriorityClass": "priorityclasses"}


@pytest.mark.parametrize(("kind", "resource"), RESOURCES.items(), ids=RESOURCES)
def test_resource_name_is_the_plural_of_the_kind(kind: str, resource: str) -> None:
    assert name_resource(kind) == resource

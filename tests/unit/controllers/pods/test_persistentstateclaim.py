"""The claim for persistent TPM and firmware state."""

import pytest
from msgspec.structs import replace
from tests.support.instances import build_vmi

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.meta import OwnerReference
from virtshape.api.model import JsonObject
from virtshape.controllers.pods.persistentstateclaim import (
    build_state_claim,
    has_state,
    is_state_claim_of,
    name_state_claim,
)

TPM: JsonObject = {"devices": {"tpm": {"persistent": True}}}
OWNER = OwnerReference(
    name="vm1",
    api_version="kubevirt.io/v1",
    kind="VirtualMachine",
    uid="v1",
    controller=True,
    block_owner_deletion=True,
)

DOMAINS = {
    "nothing": ({}, False),
    "TPM": ({"devices": {"tpm": {}}}, False),
    "persistent TPM": (TPM, True),
    "EFI": ({"firmware": {"bootloader": {"efi": {}}}}, False),
    "persistent EFI": ({"firmware": {"bootloader": {"efi": {"persistent": True}}}}, True),
}


@pytest.mark.parametrize(("domain", "kept"), DOMAINS.values(), ids=DOMAINS)
def test_instance_has_persistent_state_only_with_a_persistent_tpm_or_efi(domain: JsonObject, kept: bool) -> None:
    assert has_state(build_vmi(domain=domain).spec) == kept


def build(uid: str, *owners: OwnerReference) -> VirtualMachineInstance:
    vmi = build_vmi(uid=uid, domain=TPM)
    return replace(vmi, metadata=replace(vmi.metadata, owner_references=list(owners)))


def test_state_claim_is_shared_by_all_instances_of_a_vm() -> None:
    first, second = build("i1", OWNER), build("i2", OWNER)
    claim = build_state_claim(first, from_tree({"vmStateStorageClass": "fast"}, KubeVirtConfiguration))
    assert to_tree(claim) == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "persistent-state-for-vm1-3bfc269594",
            "namespace": "default",
            "labels": {"persistent-state-for": "vm1"},
            "ownerReferences": [to_tree(OWNER)],
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "10Mi"}},
            "storageClassName": "fast",
        },
    }
    assert name_state_claim(second) == name_state_claim(first)
    assert is_state_claim_of(claim, second)


def test_recreated_vm_gets_another_state_claim() -> None:
    claim, later = build_state_claim(build("i1", OWNER), None), build("i2", replace(OWNER, uid="v2"))
    assert name_state_claim(later) != claim.metadata.name
    assert not is_state_claim_of(claim, later)


def test_instance_without_a_vm_owns_its_state_claim() -> None:
    claim = build_state_claim(build("i1"), None)
    assert [(one.kind, one.uid) for one in claim.metadata.owner_references or ()] == [("VirtualMachineInstance", "i1")]
    assert claim.spec is not None
    assert claim.spec.storage_class_name is None


def test_long_state_claim_name_is_shortened() -> None:
    long = build("i1", replace(OWNER, name="v" * 253))
    assert len(name_state_claim(long)) == 253
    labels = build_state_claim(long, None).metadata.labels or {}
    assert len(labels["persistent-state-for"]) == 63

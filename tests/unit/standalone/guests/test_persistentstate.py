"""Directories for persistent TPM and EFI state of VMs."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.instances import build_vmi

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.meta import OwnerReference
from virtshape.standalone.guests.persistentstate import PersistentStates

TPM: dict[str, Any] = {"devices": {"tpm": {"persistent": True}}}


def build(owner: str = "", **domain: Any) -> VirtualMachineInstance:
    vmi = build_vmi(domain=domain)
    if owner:
        reference = OwnerReference("vm1", "kubevirt.io/v1", "VirtualMachine", owner, controller=True)
        vmi.metadata.owner_references = [reference]
    return vmi


def find_vm(namespace: str, name: str) -> str | None:
    return "vm-uid" if (namespace, name) == ("default", "vm1") else None


@pytest.mark.parametrize(
    ("domain", "kept"),
    [
        ({}, False),
        ({"devices": {"tpm": {}}}, False),
        ({"firmware": {"bootloader": {"efi": {}}}}, False),
        (TPM, True),
        ({"firmware": {"bootloader": {"efi": {"persistent": True}}}}, True),
    ],
    ids=["plain", "ephemeral TPM", "ephemeral EFI", "a persistent TPM", "persistent EFI"],
)
def test_state_directory_exists_only_for_persistent_devices(tmp_path: Path, domain: dict[str, Any], kept: bool) -> None:
    found = PersistentStates(tmp_path, list, find_vm).ensure(build("vm-uid", **domain))
    assert found == (str(tmp_path / "vm-uid") if kept else None)
    assert (tmp_path / "vm-uid").is_dir() == kept


def test_instance_without_a_vm_has_its_own_state_directory(tmp_path: Path) -> None:
    assert PersistentStates(tmp_path, list, find_vm).ensure(build(**TPM)) == str(tmp_path / "i1")


def test_state_of_a_deleted_vm_is_removed_once_unused(tmp_path: Path) -> None:
    used: list[str] = []
    states = PersistentStates(tmp_path / "state", lambda: used, find_vm)
    states.drop("never was")
    place = Path(states.ensure(build("vm-uid", **TPM)) or "")
    used.append(str(place))
    states.drop("vm-uid")
    assert place.exists()
    used.clear()
    states.drop("another")
    assert not place.exists()


def test_state_of_vms_deleted_during_downtime_is_removed(tmp_path: Path) -> None:
    used = [str(tmp_path / "orphan")]
    for name in ("vm1", "vm2", "orphan"):
        (tmp_path / name).mkdir()
    PersistentStates(tmp_path, lambda: used, find_vm).keep_only({"vm1"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["orphan", "vm1"]


@pytest.mark.parametrize("owner", ["..", "../guests/another", "uid-of-another-vm", "/etc"])
def test_forged_owner_reference_grants_no_access_to_the_state_of_a_vm(tmp_path: Path, owner: str) -> None:
    assert PersistentStates(tmp_path, list, find_vm).ensure(build(owner, **TPM)) == str(tmp_path / "i1")
    assert [path.name for path in tmp_path.iterdir()] == ["i1"]

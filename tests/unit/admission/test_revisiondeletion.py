"""Warnings about the deletion of a revision that VMs use: which VMs are named, and how many are read."""

from collections.abc import Iterable

import pytest
from msgspec.structs import replace
from tests.support.build import build_vm

from virtshape.admission.revisiondeletion import MAX_CHECKED, search_deletion_warnings
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.resolve.reference import Reference
from virtshape.resolve.search import run_search

START = "ControllerRevision kept is in use: "


def build_user(number: int, *, revision: str = "kept", deleted: bool = False, uid: str = "") -> VirtualMachine:
    vm = build_vm(name=f"vm{number}", instancetype={"name": "small", "revisionName": revision})
    deleted_at = "2026-01-01T00:00:00Z" if deleted else None
    return replace(vm, metadata=replace(vm.metadata, uid=uid or f"uid{number}", deletion_timestamp=deleted_at))


def build_revision(owners: int) -> JsonObject:
    references = [
        {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": f"vm{number}", "uid": f"uid{number}"}
        for number in range(owners)
    ]
    metadata = {"name": "kept", "namespace": "team", "ownerReferences": references}
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "data": {}, "revision": 0}


def warn(owners: int, vms: Iterable[VirtualMachine]) -> tuple[list[str], int]:
    """Return the warnings, and how many VMs were read."""
    found = {vm.metadata.name: vm for vm in vms}
    read: list[str] = []

    def answer(reference: object) -> VirtualMachine | None:
        assert isinstance(reference, Reference)
        assert reference.namespace == "team"
        read.append(reference.name)
        return found.get(reference.name)

    return run_search(search_deletion_warnings(build_revision(owners)), answer), len(read)


@pytest.mark.parametrize(
    ("users", "owners", "named", "command"),
    [
        pytest.param([0], 1, "VirtualMachine vm0", "vm0", id="one"),
        pytest.param([0, 1], 2, "VirtualMachines vm0 and vm1", "vm0 vm1", id="two"),
        pytest.param([1], 3, "VirtualMachine vm1", "vm1", id="one of three owners"),
        pytest.param(
            range(100), 100, "VirtualMachines vm0, vm1, vm2 and 97 more", "vm0 vm1 vm2 ...", id="more than are listed"
        ),
    ],
)
def test_warning_names_the_vms_that_use_the_revision(
    users: Iterable[int], owners: int, named: str, command: str
) -> None:
    (warning,), _ = warn(owners, map(build_user, users))
    assert warning == (
        f"{START}{named} cannot start without it; to use the current objects instead, "
        f"run: virtctl upgrade {command} -n team"
    )


@pytest.mark.parametrize(
    "vms",
    [
        pytest.param([], id="absent"),
        pytest.param([build_user(0, deleted=True)], id="being deleted"),
        pytest.param([build_user(0, revision="other")], id="other revision"),
        pytest.param([build_user(0, uid="another")], id="other VM with the same name"),
    ],
)
def test_deletion_of_a_revision_that_no_vm_uses_causes_no_warning(vms: list[VirtualMachine]) -> None:
    assert warn(1, vms) == ([], 1)


def test_number_of_vms_read_for_a_warning_is_limited() -> None:
    assert warn(100, []) == ([], MAX_CHECKED)

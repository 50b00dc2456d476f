"""Metadata and status of a running instance, field by field, as in the last example of the first design document."""

from pathlib import Path
from typing import Any

from tests.seeds.test_flavors import CLARGE, NAME, WINDOWS, build_windows
from tests.support.controllers import open_controlled_system

from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject

FIELDS = {
    "activePods": None,  # there are no pods on a single machine
    "conditions": {"Ready": "True", "LiveMigratable": "False"},
    "guestOSInfo": {},
    "interfaces": None,  # simulated guests have no interfaces
    "launcherContainerImageVersion": None,  # there is no launcher container
    "migrationMethod": "BlockMigration",
    "migrationTransport": None,  # live migration is not supported
    "nodeName": "simulated",
    "phase": "Running",
    "phaseTransitionTimestamps": ["Pending", "Scheduling", "Scheduled", "Running"],
    "qosClass": None,  # only pods have a QoS class
    "runtimeUser": 107,  # set by admission, as in KubeVirt; a launcher later reports the actual user
    "virtualMachineRevisionName": "revision-start-vm-",
    "volumeStatus": None,
}
"""The fields of the status in the example, with their values for a simulated guest on one machine."""


async def read_instance(directory: Path) -> JsonObject:
    """Run the VM of the example and return its instance."""
    async with open_controlled_system(directory) as system, system.run_controllers() as controllers:
        vm = build_windows()
        vm.metadata.namespace = "default"
        vm.spec.running = True
        await system.create(to_tree(CLARGE), to_tree(WINDOWS), to_tree(vm))
        await system.wait_for("Running", NAME)
        await system.wait_until_idle(controllers)
        tree: JsonObject = to_tree(await system.vmi(NAME))
        return tree


def summarize(status: JsonObject, field: str) -> Any:
    """Return the part of a field that does not depend on the run."""
    match field:
        case "conditions":
            return {one["type"]: one["status"] for one in status[field]}
        case "phaseTransitionTimestamps":
            return [one["phase"] for one in status[field]]
        case "virtualMachineRevisionName":
            return status[field][: len("revision-start-vm-")]
        case _:
            return status.get(field)


async def test_instance_has_the_status_of_the_example(tmp_path: Path) -> None:
    instance = await read_instance(tmp_path)
    metadata, status = instance["metadata"], instance["status"]
    expected = {
        "kubevirt.io/flavor-name": "vmf-clarge",
        "kubevirt.io/latest-observed-api-version": "v1",
        "kubevirt.io/preference-name": "vmpwindows",
        "kubevirt.io/storage-observed-api-version": "v1",
    }
    assert metadata["annotations"].items() >= expected.items()
    assert "kubevirt.io/foregroundDeleteVirtualMachine" in metadata["finalizers"]
    assert metadata["labels"]["kubevirt.io/nodeName"] == "simulated"
    assert {field: summarize(status, field) for field in FIELDS} == FIELDS
    migratable = next(one for one in status["conditions"] if one["type"] == "LiveMigratable")
    assert (migratable["reason"], migratable["message"]) == (
        "NotMigratable",
        "virtshape does not support live migration: restart the VM to move it",
    )

"""A launcher that cannot start: VMs report the reason and start after the repair; other components are not affected."""

from pathlib import Path
from typing import Any

from tests.support.demoguests import CORE, KUBEVIRT
from tests.support.guests import require_qemu
from tests.support.upprocess import System, call_virtshape, wait_until

VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "vm1", "namespace": "default"},
    "spec": {
        "runStrategy": "Always",
        "template": {
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "domain": {"memory": {"guest": "64Mi"}, "devices": {}},
            }
        },
    },
}


def find_condition(tree: Any, name: str) -> Any:
    conditions = tree.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == name), {})


def test_launcher_start_failure_is_reported_until_it_is_repaired(tmp_path: Path) -> None:
    require_qemu()
    data = tmp_path / "data"
    obstacle = data / "cache" / "probe"  # a file where the launcher expects the directory for QEMU's capabilities
    obstacle.parent.mkdir(parents=True)
    obstacle.write_text("in the way")
    with System(data, "--launcher", "qemu", "--no-catalog") as system:
        assert system.request("POST", f"{KUBEVIRT}/virtualmachines", VM)[0] == 201

        def find_vm(printed: str) -> Any:
            tree = system.request("GET", f"{KUBEVIRT}/virtualmachines/vm1")[1]
            return tree if tree.get("status", {}).get("printableStatus") == printed else None

        vm = wait_until(lambda: find_vm("ErrorUnschedulable"), "the VM does not report that it cannot start")
        assert "the launcher failed to start" in find_condition(vm, "PodScheduled")["message"]

        def list_nodes() -> Any:
            items = system.request("GET", "/api/v1/nodes")[1]["items"]
            return [node for node in items if find_condition(node, "Ready")]

        # If the launcher fails only after the controllers have started, instances report this before the node does.
        (node,) = wait_until(list_nodes, "no node has the condition Ready")
        assert find_condition(node, "Ready")["status"] == "False"
        assert "the launcher failed to start" in find_condition(node, "Ready")["message"]

        def list_reasons() -> set[str]:
            return {one["reason"] for one in system.request("GET", f"{CORE}/events")[1]["items"]}

        wait_until(lambda: "FailedScheduling" in list_reasons(), "the event is missing")
        status = call_virtshape("status", "--data-dir", data)
        assert status.returncode == 1
        assert "unhealthy: launcher failed:" in status.stdout

        obstacle.unlink()
        wait_until(lambda: find_vm("Running"), "the VM does not start", patience=300.0)
        (node,) = list_nodes()
        assert find_condition(node, "Ready")["status"] == "True"
        wait_until(lambda: call_virtshape("status", "--data-dir", data).returncode == 0, "the server is not healthy")
        assert system.request("DELETE", f"{KUBEVIRT}/virtualmachines/vm1")[0] == 200
        wait_until(
            lambda: not system.request("GET", f"{KUBEVIRT}/virtualmachineinstances")[1]["items"],
            "the guest was not removed",
        )
    assert system.log.read_text().count("Traceback") == 1

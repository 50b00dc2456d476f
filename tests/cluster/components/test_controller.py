"""Controller processes on a real control plane: leader election, crashes and API server restarts."""

import json
import signal
import time

import pytest
from tests.cluster.components.installation import LEADER, SYSTEM, ComponentProcess, Installation
from tests.cluster.install import TIMEOUT, retry
from tests.support.kubectl import Kubectl

from virtshape.api.model import JsonObject

pytestmark = pytest.mark.usefixtures("webhook")
LEASE = "virtshape-controller"
PODS = ("pods", "-l", "kubevirt.io=virt-launcher")
TIMEOUT_FLAG = f"--timeout={TIMEOUT:g}s"
LASTING = ("--lease-seconds=600", "--renew-seconds=400")


def build_vm(name: str = "vm1", strategy: str = "Always") -> JsonObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {
            "runStrategy": strategy,
            "instancetype": {"name": "u1.small"},
            "template": {"spec": {"domain": {"devices": {}}}},
        },
    }


def find_leaders(*workers: ComponentProcess) -> list[ComponentProcess]:
    return [worker for worker in workers if worker.read_metric(LEADER) == 1]


def wait_for_leader(*workers: ComponentProcess) -> ComponentProcess:
    """Wait until there is a leader and return it; fail if there are two."""

    def probe() -> ComponentProcess:
        leaders = find_leaders(*workers)
        assert len(leaders) == 1
        return leaders[0]

    leader: ComponentProcess = retry(probe)
    return leader


def list_pods(kubectl: Kubectl) -> list[str]:
    return [pod["metadata"]["labels"]["vm.kubevirt.io/name"] for pod in kubectl.get(*PODS)["items"]]


def count_starts(kubectl: Kubectl, name: str) -> int:
    """Return how many instances were created for a VM, from its events."""
    events = kubectl.get("events", "--field-selector", f"involvedObject.name={name},reason=SuccessfulCreate")
    return sum(event.get("count") or 1 for event in events["items"])


def test_killed_leader_is_replaced_and_no_vm_starts_twice(installation: Installation, kubectl: Kubectl) -> None:
    names = [f"vm{number:02}" for number in range(12)]
    with installation.running("controller") as first, installation.running("controller") as second:
        leader = wait_for_leader(first, second)
        other = second if leader is first else first
        kubectl.apply(*(build_vm(name) for name in names))
        leader.end(signal.SIGKILL)  # the VMs are still starting
        began = time.monotonic()
        assert wait_for_leader(other) is other
        assert time.monotonic() - began < TIMEOUT / 2
        retry(lambda: _expect(sorted(list_pods(kubectl)), names))
        instances = kubectl.get("vmi")["items"]
        assert sorted(item["metadata"]["name"] for item in instances) == names
        owners = [pod["metadata"]["ownerReferences"][0]["uid"] for pod in kubectl.get(*PODS)["items"]]
        assert len(set(owners)) == len(names)
        time.sleep(1)
        retry(
            lambda: _expect(max(count_starts(kubectl, name) for name in names), 1)
        )  # events are written asynchronously
        kubectl("delete", "vm", "--all", "--wait=false")
        retry(lambda: _expect(kubectl.get("vm")["items"], []))


def test_stopped_leader_releases_its_lease_at_once(installation: Installation) -> None:
    with installation.running("controller", *LASTING) as first, installation.running("controller", *LASTING) as second:
        leader = wait_for_leader(first, second)
        other = second if leader is first else first
        assert leader.end(signal.SIGTERM) == 0
        began = time.monotonic()
        wait_for_leader(other)
        assert time.monotonic() - began < 300  # less than the duration of the lease
        lease = installation.kubectl.in_namespace(SYSTEM).get("lease", LEASE)
        assert lease["spec"]["leaseTransitions"] >= 1


def test_suspended_leader_gives_up_leadership_when_it_resumes(installation: Installation, kubectl: Kubectl) -> None:
    with installation.running("controller") as first, installation.running("controller") as second:
        leader = wait_for_leader(first, second)
        other = second if leader is first else first
        leader.send(signal.SIGSTOP)
        retry(lambda: _expect(find_leaders(other), [other]))
        kubectl.apply(build_vm("asleep"))
        leader.send(signal.SIGCONT)
        for _ in range(10):
            assert len(find_leaders(first, second)) <= 1
            time.sleep(0.1)
        assert wait_for_leader(first, second) is other
        retry(lambda: _expect(list_pods(kubectl), ["asleep"]))
        retry(lambda: _expect("lost leadership" in leader.log.read_text(), True))
        kubectl("delete", "vm", "--all", TIMEOUT_FLAG)


def test_controllers_reconnect_after_an_api_server_restart(
    installation: Installation, controller: ComponentProcess, kubectl: Kubectl
) -> None:
    kubectl.apply(build_vm("before"))
    retry(lambda: _expect(list_pods(kubectl), ["before"]))
    installation.plane.apiserver.stop(signal.SIGKILL)
    retry(lambda: _expect(find_leaders(controller), []))
    installation.plane.start_apiserver()
    wait_for_leader(controller)
    installation.wait_until_trusted()
    retry(lambda: kubectl.apply(build_vm("after")))
    retry(lambda: _expect(sorted(list_pods(kubectl)), ["after", "before"]))
    kubectl("delete", "vm", "--all", TIMEOUT_FLAG)


def test_revisions_are_deleted_with_their_vm(controller: ComponentProcess, kubectl: Kubectl) -> None:
    """The garbage collector of the cluster deletes revisions by their owner references."""
    del controller
    kubectl.apply(build_vm("owner", "Halted"))
    retry(lambda: _expect(len(kubectl.get("controllerrevisions")["items"]), 1))
    kubectl("delete", "vm", "owner", TIMEOUT_FLAG)
    retry(lambda: _expect(kubectl.get("controllerrevisions")["items"], []))


def test_namespace_is_deleted_with_all_its_vms(
    controller: ComponentProcess, aggregated: ComponentProcess, installation: Installation, kubectl: Kubectl
) -> None:
    """All API groups must be available: a cluster deletes a namespace only if it can list all its objects."""
    del controller, aggregated
    kubectl.apply(build_vm("a"), build_vm("b", "Halted"))
    retry(lambda: _expect(list_pods(kubectl), ["a"]))
    installation.kubectl("delete", "namespace", kubectl.namespace, TIMEOUT_FLAG)
    assert installation.kubectl.run("get", "namespace", kubectl.namespace).status != 0


def test_vm_with_a_data_volume_template_reports_that_cdi_is_missing(
    controller: ComponentProcess, kubectl: Kubectl
) -> None:
    del controller
    vm = build_vm("disks")
    vm["spec"]["dataVolumeTemplates"] = [
        {
            "metadata": {"name": "disk"},
            "spec": {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}},
        }
    ]
    vm["spec"]["template"]["spec"]["volumes"] = [{"name": "disk", "dataVolume": {"name": "disk"}}]
    kubectl("create", "-f", "-", stdin=json.dumps(vm))

    def check() -> None:
        conditions = kubectl.get("vm", "disks").get("status", {}).get("conditions", [])
        assert "DataVolumesNotServed" in [condition.get("reason") for condition in conditions]

    retry(check)
    kubectl("delete", "vm", "disks", TIMEOUT_FLAG)


def test_vm_starts_once_its_claim_exists_and_does_not_change_the_claim(
    controller: ComponentProcess, kubectl: Kubectl
) -> None:
    del controller
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeMode": "Block",
        },
    }
    vm = build_vm("claims")
    vm["spec"]["template"]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    kubectl.apply(vm)
    retry(lambda: _expect(kubectl.get("vm", "claims").get("status", {}).get("printableStatus"), "ErrorPvcNotFound"))
    assert list_pods(kubectl) == []
    kubectl.apply(claim)
    retry(lambda: _expect(list_pods(kubectl), ["claims"]))
    (pod,) = kubectl.get(*PODS)["items"]
    assert pod["spec"]["containers"][0]["volumeDevices"] == [{"name": "data", "devicePath": "/dev/virtshape-data"}]
    assert kubectl.get("pvc", "data")["status"]["phase"] == "Pending"
    kubectl("delete", "vm", "claims", TIMEOUT_FLAG)


def test_controller_serves_health_endpoints_metrics_and_json_logs(
    controller: ComponentProcess, installation: Installation
) -> None:
    assert controller.request("/livez") == (200, "ok")
    retry(lambda: _expect(controller.request("/readyz")[0], 200))
    retry(
        lambda: _expect(
            installation.kubectl.in_namespace("kubevirt").get("kv", "kubevirt")["status"]["phase"], "Deployed"
        )
    )
    for series in (
        'workqueue_depth{name="vm"}',
        'controller_runtime_reconcile_total{controller="vm",result="success"}',
        'controller_runtime_reconcile_time_seconds_count{controller="vm"}',
        "virtshape_vm_metrics_omitted",
    ):
        retry(lambda series=series: _expect(f"\n{series} " in controller.request("/metrics")[1], True))
    line = json.loads(controller.log.read_text().splitlines()[0])
    assert {"time", "level", "logger", "message"} <= set(line)


def _expect(found: object, wanted: object) -> None:
    assert found == wanted

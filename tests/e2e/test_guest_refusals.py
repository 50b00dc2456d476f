"""VMs that cannot start: the reason is in a condition and an event, and they start once the problem is resolved."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.demoguests import Guests, build_guest, eventually
from tests.support.upprocess import System

from virtshape.api.model import JsonObject

VIRTUAL_MACHINES = "virtualmachines"
VIRTUAL_MACHINE_INSTANCES = "virtualmachineinstances"


class Reason(NamedTuple):
    """A reason that prevents a start, and how it is reported."""

    status: str
    """The printable status of the VM."""
    condition: str
    """The type of the condition with the reason, on the instance or, before it exists, on the VM."""
    reason: str
    message: str
    domain: JsonObject | None = None
    volume: JsonObject | None = None
    kind: str = VIRTUAL_MACHINE_INSTANCES


REASONS: dict[str, Reason] = {
    "missing-claim": Reason(
        "ErrorPvcNotFound",
        "DataVolumesReady",
        "FailedPvcNotFound",
        "PersistentVolumeClaim nowhere not found",
        volume={"persistentVolumeClaim": {"claimName": "nowhere"}},
        kind=VIRTUAL_MACHINES,
    ),
    "failed-volume": Reason(
        "DataVolumeError",
        "DataVolumesReady",
        "DataVolumeError",
        "DataVolume failed is Failed: source s3 (an S3 store) is not supported",
        volume={"dataVolume": {"name": "failed"}},
        kind=VIRTUAL_MACHINES,
    ),
    "image": Reason(
        "ImagePullBackOff",
        "Synchronized",
        "ImagePullBackOff",
        "pulling image 127.0.0.1:1/no/such:1 failed: http://127.0.0.1:1/v2/no/such/manifests/1 cannot be reached: "
        "imports may not connect to 127.0.0.1, which is not a public address",
        volume={"containerDisk": {"image": "127.0.0.1:1/no/such:1"}},
    ),
    "secret": Reason(
        "Starting",
        "Synchronized",
        "SecretNotFound",
        "Secret default/nowhere not found",
        volume={"secret": {"secretName": "nowhere"}},
    ),
    "settings": Reason(
        "Starting",
        "Synchronized",
        "ConfigMapNotFound",
        "ConfigMap default/nowhere not found",
        volume={"configMap": {"name": "nowhere"}},
    ),
    "account": Reason(
        "Starting",
        "Synchronized",
        "ServiceAccountNotFound",
        "ServiceAccount default/nowhere not found",
        volume={"serviceAccount": {"serviceAccountName": "nowhere"}},
    ),
    "host-disk": Reason(
        "Starting",
        "Synchronized",
        "HostDiskRefused",
        "spec.volumes[1].hostDisk.path: file /srv/virtshape-disks/missing.img does not exist",
        volume={"hostDisk": {"path": "/srv/virtshape-disks/missing.img", "type": "Disk"}},
    ),
    "hugepages": Reason(
        "ErrorUnschedulable",
        "PodScheduled",
        "Unschedulable",
        "of hugepages-1Gi left, 512Gi needed",
        domain={"memory": {"guest": "512Gi", "hugepages": {"pageSize": "1Gi"}}},
    ),
    "memory": Reason(
        "ErrorUnschedulable",
        "PodScheduled",
        "Unschedulable",
        "of memory left, 512Ti needed",
        domain={"memory": {"guest": "512Ti"}},
    ),
    "device": Reason(
        "ErrorUnschedulable",
        "PodScheduled",
        "Unschedulable",
        "has 0 of example.org/gpu left, 1 needed",
        domain={"devices": {"gpus": [{"name": "one", "deviceName": "example.org/gpu"}]}},
    ),
    "sev": Reason(
        "ErrorUnschedulable",
        "Synchronized",
        "NotPossibleHere",
        "spec.domain.launchSecurity.sev: this host does not support SEV",
        domain={"launchSecurity": {"sev": {}}, "firmware": {"bootloader": {"efi": {"secureBoot": False}}}},
    ),
    "machine": Reason(
        "ErrorUnschedulable",
        "Synchronized",
        "NotPossibleHere",
        "spec.domain.machine.type: QEMU on this host has no machine type pc-q35-rhel9.2.0; it has: pc, ",
        domain={"machine": {"type": "pc-q35-rhel9.2.0"}},
    ),
    "model": Reason(
        "ErrorUnschedulable",
        "Synchronized",
        "NotPossibleHere",
        "spec.domain.cpu.model: this host does not know the CPU model NoSuchModel; it supports: ",
        domain={"cpu": {"model": "NoSuchModel"}},
    ),
    "feature": Reason(
        "ErrorUnschedulable",
        "Synchronized",
        "NotPossibleHere",
        "spec.domain.cpu.features[0].name: this host does not support the CPU feature no-such-feature",
        domain={"cpu": {"features": [{"name": "no-such-feature"}]}},
    ),
    "queues": Reason(
        "ErrorUnschedulable",
        "Synchronized",
        "NotPossibleHere",
        "spec.domain.devices.networkInterfaceMultiqueue: the interface 'default' has user-mode networking",
        domain={"cpu": {"cores": 2}, "devices": {"networkInterfaceMultiqueue": True}},
    ),
}


@pytest.fixture
def failed(guests: Guests) -> Iterator[None]:
    """A DataVolume whose import fails."""
    volume: JsonObject = {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {"name": "failed", "namespace": "default"},
        "spec": {
            "source": {"s3": {"url": "http://127.0.0.1:1/disk"}},
            "storage": {"resources": {"requests": {"storage": "8Mi"}}},
        },
    }
    guests.create(volume)
    yield
    guests.system.request("DELETE", "/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datavolumes/failed")


@pytest.fixture
def permitted(guests: Guests) -> Iterator[None]:
    """A configuration with which admission accepts devices that the machine does not have."""
    devices = [{"pciVendorSelector": "10DE:1EB8", "resourceName": "example.org/gpu"}]
    configuration = {
        "developerConfiguration": {"featureGates": ["WorkloadEncryptionSEV"]},
        "permittedHostDevices": {"pciHostDevices": devices},
    }
    path = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
    settings = guests.system.directory / "config.yaml"
    settings.write_text(json.dumps({"hostDisks": {"roots": ["/srv/virtshape-disks"]}}))
    guests.patch(path, spec={"configuration": configuration})
    yield
    guests.patch(path, spec={"configuration": dict.fromkeys(configuration)})
    settings.unlink()


@pytest.mark.usefixtures("failed", "permitted")
@pytest.mark.parametrize(("name", "why"), REASONS.items(), ids=REASONS.keys())
def test_reason_for_a_failed_start_is_in_a_condition_and_an_event(guests: Guests, name: str, why: Reason) -> None:
    name = f"not-{name}"
    domain = {"memory": {"guest": "192Mi"}, "devices": {}, **(why.domain or {})}
    volumes = [{"name": "data", **why.volume}] if why.volume else []
    guests.create(build_guest(name, domain=domain, volumes=volumes))
    reported = eventually(
        lambda: (
            found
            if (found := guests.conditions(name, why.kind).get(why.condition, {})).get("reason") == why.reason
            else None
        ),
        lambda: json.dumps([guests.vm(name), guests.vmi(name)], indent=1),
    )
    assert why.message in reported["message"]
    guests.wait_for_status(name, why.status)
    event = eventually(
        lambda: next((one for one in guests.list_events(name) if why.message in one["message"]), None),
        lambda: guests.read_event_text(name),
    )
    assert event["type"] == "Warning"
    guests.delete(name)


def test_guest_starts_once_its_missing_secret_exists(guests: Guests) -> None:
    volumes = [{"name": "data", "secret": {"secretName": "late"}}]
    guests.create(build_guest("patient", grace=0, volumes=volumes))
    guests.wait_for_condition("patient", "Synchronized", "SecretNotFound")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "late", "namespace": "default"}}
    guests.create({**secret, "stringData": {"key": "value"}})
    guests.wait_for_phase("patient", "Running")
    assert "Synchronized" not in guests.conditions("patient")
    guests.delete("patient")


def test_substituted_cpu_model_is_reported_in_a_condition(guests: Guests) -> None:
    """Without KVM, the guest gets a substitute for the CPU model host-passthrough."""
    domain = {"cpu": {"model": "host-passthrough"}, "memory": {"guest": "192Mi"}}
    guests.create(build_guest("standing-in", grace=0, domain=domain))
    guests.wait_for_phase("standing-in", "Running")
    node = guests.wait_for_node()
    has_kvm = "devices.kubevirt.io/kvm" in node["status"]["allocatable"]
    message = guests.conditions("standing-in").get("StandIn", {}).get("message", "")
    assert ("host-passthrough needs KVM" in message) is not has_kvm
    guests.wait_for_status("standing-in", "Running")  # once the VM is Running, it has the condition of the instance
    assert guests.conditions("standing-in", VIRTUAL_MACHINES).get("StandIn", {}).get("message", "") == message
    guests.delete("standing-in")


def test_server_without_qemu_reports_that_qemu_is_missing_and_instances_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    sudo = "" if os.geteuid() == 0 else "sudo "
    missing = "the emulator is missing (qemu-system-x86); QEMU's disk tool is missing (qemu-utils)"
    fix = f"{sudo}apt-get install -y qemu-system-x86 qemu-utils"
    message = f"guests cannot run on this machine: {missing} (fix: {fix})"
    with System(tmp_path / "data", "--launcher", "qemu") as system:
        before, ready, _ = system.greeting.partition("virtshape is ready")
        assert ready
        assert "No guest can run on this machine; everything else works:\n" in before
        assert "the emulator is missing (qemu-system-x86)" in before
        (command,) = [line for line in before.splitlines() if line.startswith(f"  {sudo}apt-get install -y ")]
        assert {"qemu-system-x86", "qemu-utils", "kubernetes-client"} <= set(command.split())
        waiting = Guests(system)
        waiting.create(build_guest("waiting"))
        reported = waiting.wait_for_condition("waiting", "PodScheduled", "Unschedulable")
        assert reported["status"] == "False"
        assert f"no node runs instances: {message}" in reported["message"]
        assert (waiting.vmi("waiting") or {})["status"]["phase"] == "Scheduling"
        waiting.wait_for_event_text("waiting", message)
        waiting.delete("waiting")

"""
Input for the benchmarks: the recorded VM in $VIRTSHAPE_BENCH or a built-in one, and varied VMs.

The input is deterministic: it has the same bytes in each run.
"""

import json
import os
import pathlib

from virtshape.api.model import JsonObject

INSTANCETYPE: JsonObject = {
    "apiVersion": "instancetype.kubevirt.io/v1beta1",
    "kind": "VirtualMachineClusterInstancetype",
    "metadata": {"name": "u1.medium"},
    "spec": {"cpu": {"guest": 1}, "memory": {"guest": "4Gi"}},
}
PREFERENCE: JsonObject = {
    "apiVersion": "instancetype.kubevirt.io/v1beta1",
    "kind": "VirtualMachineClusterPreference",
    "metadata": {"name": "fedora"},
    "spec": {
        "devices": {"preferredDiskBus": "virtio", "preferredInterfaceModel": "virtio", "preferredRng": {}},
        "features": {"preferredSmm": {}},
        "firmware": {"preferredEfi": {"secureBoot": True}},
        "requirements": {"cpu": {"guest": 1}, "memory": {"guest": "2Gi"}},
    },
}


def read_recorded(name: str) -> bytes | None:
    """Return the contents of a file in $VIRTSHAPE_BENCH, or None if the variable is not set."""
    folder = os.environ.get("VIRTSHAPE_BENCH")
    return pathlib.Path(folder, name).read_bytes() if folder else None


def build_vm(number: int) -> JsonObject:
    """Return a VM whose fields vary with the number."""
    volumes: list[JsonObject] = [{"name": "root", "containerDisk": {"image": f"registry.example/os:{number}"}}]
    volumes += [{"name": f"data{n}", "persistentVolumeClaim": {"claimName": f"c{n}"}} for n in range(number % 4)]
    devices: JsonObject = {"disks": [{"name": "root", "disk": {"bus": "sata"}}]} if number % 3 == 0 else {}
    if number % 5 == 0:
        devices["interfaces"] = [{"name": "lan", "masquerade": {}}]
    template: JsonObject = {"domain": {"devices": devices}, "volumes": volumes}
    if number % 5 == 0:
        template["networks"] = [{"name": "lan", "pod": {}}]
    if number % 7 == 0:
        template["nodeSelector"] = {"zone": f"z{number % 3}"}
    spec: JsonObject = {"runStrategy": "Always", "instancetype": {"name": "u1.medium"}, "template": {"spec": template}}
    if number % 4:
        spec["preference"] = {"name": "fedora"}
    metadata = {"name": f"vm-{number}", "namespace": f"team-{number % 10}", "labels": {"app": f"app{number % 20}"}}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata, "spec": spec}


def encode_vms(count: int) -> list[bytes]:
    """Return varied VMs as JSON."""
    return [json.dumps(build_vm(number)).encode() for number in range(count)]

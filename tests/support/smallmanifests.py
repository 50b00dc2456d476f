"""Builders of small, valid manifests for end-to-end tests."""

from typing import Any

from virtshape.api.model import JsonObject

SIZES = "instancetype.kubevirt.io"


def build_vm(name: str = "web", labels: dict[str, str] | None = None, **spec: Any) -> JsonObject:
    """Build a VM with an instance type and a preference of the catalog."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "labels": labels or {"app": "web"}},
        "spec": {
            "runStrategy": "Halted",
            "instancetype": {"name": "u1.medium"},
            "preference": {"name": "fedora"},
            "template": {
                "spec": {
                    "domain": {"devices": {}},
                    "volumes": [{"name": "root", "containerDisk": {"image": "quay.io/containerdisks/fedora:41"}}],
                }
            },
            **spec,
        },
    }


def build_instancetype(
    name: str = "small", version: str = "v1beta2", vcpus: int = 2, memory: str = "2Gi"
) -> JsonObject:
    """Build a namespaced instance type."""
    return {
        "apiVersion": f"{SIZES}/{version}",
        "kind": "VirtualMachineInstancetype",
        "metadata": {"name": name},
        "spec": {"cpu": {"guest": vcpus}, "memory": {"guest": memory}},
    }


def build_config_map(name: str = "settings", **data: str) -> JsonObject:
    """Build a ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data or {"a": "1"}}

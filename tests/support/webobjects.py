"""Objects that pages of the web console show, created through the API."""

from typing import Any

from tests.support.upprocess import System

from virtshape.api.model import JsonObject

VMS = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines"
INSTANCETYPES = "/apis/instancetype.kubevirt.io/v1beta1/namespaces/default/virtualmachineinstancetypes"
PREFERENCES = "/apis/instancetype.kubevirt.io/v1beta1/namespaces/default/virtualmachinepreferences"
DATA_SOURCES = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datasources"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def build_vm(name: str, *, run_strategy: str = "Always", instancetype: str = "", **metadata: Any) -> JsonObject:
    """Return a VM with a container disk, and with a namespaced instance type or, by default, 256Mi of memory."""
    size: JsonObject = {} if instancetype else {"memory": {"guest": "256Mi"}}
    shape = {"instancetype": {"kind": "VirtualMachineInstancetype", "name": instancetype}} if instancetype else {}
    volume = {"name": "rootdisk", "containerDisk": {"image": "virtshape.local/demo"}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, **metadata},
        "spec": {
            "runStrategy": run_strategy,
            **shape,
            "template": {"spec": {"domain": {**size, "devices": {}}, "volumes": [volume]}},
        },
    }


def build_instancetype(name: str, *, vcpus: int = 1, memory: str = "1Gi", **metadata: Any) -> JsonObject:
    """Return a namespaced instance type."""
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineInstancetype",
        "metadata": {"name": name, **metadata},
        "spec": {"cpu": {"guest": vcpus}, "memory": {"guest": memory}},
    }


def build_preference(name: str, *, vcpus: int) -> JsonObject:
    """Return a namespaced preference that requires a number of vCPUs."""
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePreference",
        "metadata": {"name": name},
        "spec": {"requirements": {"cpu": {"guest": vcpus}}},
    }


def build_default_labels(instancetype: str, preference: str) -> dict[str, str]:
    """Return labels that name a default instance type and preference, unless they are empty."""
    defaults = {"instancetype": instancetype, "preference": preference}
    return {f"instancetype.kubevirt.io/default-{role}": name for role, name in defaults.items() if name}


def build_data_source(name: str, *, claim: str, instancetype: str = "", preference: str = "") -> JsonObject:
    """Return a DataSource that refers to a claim, with labels for a default instance type and preference."""
    return {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataSource",
        "metadata": {"name": name, "labels": build_default_labels(instancetype, preference)},
        "spec": {"source": {"pvc": {"name": claim, "namespace": "default"}}},
    }


def build_claim(name: str, *, instancetype: str = "", preference: str = "") -> JsonObject:
    """Return a claim with labels for a default instance type and preference."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "labels": build_default_labels(instancetype, preference)},
        "spec": spec,
    }


def create(server: System, path: str, tree: JsonObject) -> JsonObject:
    """Create an object as the administrator."""
    status, created = server.request("POST", path, tree)
    assert status == 201, created
    return created  # type: ignore[no-any-return]  # decoded JSON


def patch(server: System, path: str, tree: JsonObject) -> None:
    """Change an object with a merge patch, as the administrator."""
    status, changed = server.request("PATCH", path, tree, **{"Content-Type": "application/merge-patch+json"})
    assert status == 200, changed

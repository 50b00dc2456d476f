"""Builders of request bodies, and API paths."""

from typing import Any, NamedTuple

from tests.support.loopback import Client

from virtshape.api.model import JsonObject

GROUP = "instancetype.kubevirt.io"
CLUSTER_INSTANCETYPES = f"/apis/{GROUP}/v1beta1/virtualmachineclusterinstancetypes"


class NamespacePaths(NamedTuple):
    """The API paths of the objects in a namespace."""

    namespace: str

    def instancetypes(self, name: str = "", version: str = "v1beta1") -> str:
        return _join(f"/apis/{GROUP}/{version}/namespaces/{self.namespace}/virtualmachineinstancetypes", name)

    def vms(self, name: str = "", version: str = "v1") -> str:
        return _join(f"/apis/kubevirt.io/{version}/namespaces/{self.namespace}/virtualmachines", name)

    def core(self, plural: str, name: str = "") -> str:
        return _join(f"/api/v1/namespaces/{self.namespace}/{plural}", name)


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if name else path


def build_instancetype(
    name: str = "small",
    *,
    guest: int | None = 1,
    memory: str | None = "1Gi",
    version: str = "v1beta1",
    kind: str = "VirtualMachineInstancetype",
    **metadata: Any,
) -> JsonObject:
    """Build an instance type; other keyword arguments are fields of its metadata."""
    sizes = {"cpu": {"guest": guest} if guest is not None else {}, "memory": {"guest": memory} if memory else {}}
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": kind,
        "metadata": {"name": name, **metadata},
        "spec": sizes,
    }


def build_vm(
    name: str = "vm1", *, status: JsonObject | None = None, version: str = "v1", **metadata: Any
) -> JsonObject:
    """Build a valid halted VM; other keyword arguments are fields of its metadata."""
    template = {"spec": {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}}}
    return {
        "apiVersion": f"kubevirt.io/{version}",
        "kind": "VirtualMachine",
        "metadata": {"name": name, **metadata},
        "spec": {"runStrategy": "Halted", "template": template},
        **({"status": status} if status else {}),
    }


def build_config(name: str = "settings", *, data: dict[str, str] | None = None, **metadata: Any) -> JsonObject:
    """Build a ConfigMap; other keyword arguments are fields of its metadata."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data or {"a": "1"}}


def create(client: Client, path: str, *bodies: JsonObject) -> list[JsonObject]:
    """Create objects and return the responses."""
    replies = [client.post(path, body) for body in bodies]
    assert [reply.status for reply in replies] == [201] * len(bodies), [reply.body for reply in replies]
    return [reply.tree for reply in replies]


def names(listing: JsonObject) -> list[str]:
    """Return the names of a list's items in order."""
    return [item["metadata"]["name"] for item in listing["items"]]


def revision(tree: JsonObject) -> str:
    """Return the resourceVersion of an object or list."""
    version: str = tree["metadata"]["resourceVersion"]
    return version

"""expand-vm-spec and explain-vm-spec infer nothing from objects in other namespaces that the user may not read."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.integration.objects import CLUSTER_INSTANCETYPES, NamespacePaths, build_instancetype
from tests.integration.test_access import RBAC, acting, grant, rule
from tests.support.loopback import Client, LoopbackServer, Response

from virtshape.api.model import JsonObject

GROUP = "rbac.authorization.k8s.io"
NAME = "instancetype.kubevirt.io/default-instancetype"


def name_sources(paths: NamespacePaths) -> str:
    return f"/apis/cdi.kubevirt.io/v1beta1/namespaces/{paths.namespace}/datasources"


def build_data_source(name: str) -> JsonObject:
    """Build a data source that points to the claim in the other namespace."""
    origin = {"pvc": {"namespace": "images", "name": "golden"}}
    head = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource", "metadata": {"name": name}}
    return {**head, "spec": {"source": origin}}


@pytest.fixture
def elsewhere(client: Client) -> Iterator[NamespacePaths]:
    """A namespace with a labelled claim, and a data source that points to it."""
    name = "images"
    client.post("/api/v1/namespaces", {"metadata": {"name": name}})
    made = NamespacePaths(name)
    claim = {
        "metadata": {"name": "golden", "labels": {NAME: "secret-size"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    assert client.post(made.core("persistentvolumeclaims"), claim).status in (201, 409)
    assert client.post(name_sources(made), build_data_source("golden")).status in (201, 409)
    size = build_instancetype("secret-size", kind="VirtualMachineClusterInstancetype", guest=3)
    assert client.post(CLUSTER_INSTANCETYPES, size).status in (201, 409)
    yield made
    client.delete(f"{CLUSTER_INSTANCETYPES}/secret-size")  # other modules list all instance types of this server


@pytest.fixture
def dev(server: LoopbackServer, client: Client, paths: NamespacePaths) -> Iterator[Client]:
    """A user with the role edit in one namespace only."""
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "edit"}
    subjects = [{"apiGroup": GROUP, "kind": "User", "name": paths.namespace}]
    binding = {"metadata": {"name": "edit"}, "roleRef": reference, "subjects": subjects}
    assert client.post(f"{RBAC}/namespaces/{paths.namespace}/rolebindings", binding).status == 201
    connected = acting(server, paths.namespace)
    yield connected
    connected.close()


def expand(client: Client, paths: NamespacePaths, action: str = "expand-vm-spec", **source: Any) -> Response:
    template = {"metadata": {"name": "root"}, "spec": {**source, "storage": {}}}
    vm: JsonObject = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "spy"},
        "spec": {
            "runStrategy": "Halted",
            "instancetype": {"inferFromVolume": "root"},
            "dataVolumeTemplates": [template],
            "template": {
                "spec": {"domain": {"devices": {}}, "volumes": [{"name": "root", "dataVolume": {"name": "root"}}]}
            },
        },
    }
    return client.put(f"/apis/subresources.kubevirt.io/v1/namespaces/{paths.namespace}/{action}", vm)


def from_claim(name: str, namespace: str = "images") -> JsonObject:
    return {"source": {"pvc": {"namespace": namespace, "name": name}}}


def from_data_source(name: str, namespace: str = "images") -> JsonObject:
    return {"sourceRef": {"kind": "DataSource", "namespace": namespace, "name": name}}


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("origin", [from_claim, from_data_source])
@pytest.mark.parametrize("action", ["expand-vm-spec", "explain-vm-spec"])
def test_labels_of_another_namespace_are_not_revealed(
    dev: Client, paths: NamespacePaths, origin: Any, action: str
) -> None:
    replies = [expand(dev, paths, action, **origin(name)) for name in ("golden", "absent")]
    assert [reply.status for reply in replies] == [403, 403]
    messages = [reply.tree["message"].replace("absent", "golden") for reply in replies]
    assert messages[0] == messages[1]  # whether the object exists is not revealed either
    assert b"secret-size" not in replies[0].body


@pytest.mark.parametrize("origin", [from_claim, from_data_source])
@pytest.mark.parametrize("right", ["clone", "get"])
def test_permitted_user_reads_labels_of_another_namespace(
    client: Client, dev: Client, paths: NamespacePaths, elsewhere: NamespacePaths, origin: Any, right: str
) -> None:
    rules = {
        "clone": [rule("create", "datavolumes/source", "cdi.kubevirt.io")],
        "get": [rule("get", "persistentvolumeclaims"), rule("get", "datasources", "cdi.kubevirt.io")],
    }
    subject = {"apiGroup": GROUP, "kind": "User", "name": paths.namespace}
    grant(client, elsewhere, *rules[right], subject=subject, name=paths.namespace)
    reply = expand(dev, paths, **origin("golden"))
    assert reply.status == 200, reply.body
    assert reply.tree["spec"]["template"]["spec"]["domain"]["cpu"]["sockets"] == 3


@pytest.mark.usefixtures("elsewhere")
def test_data_source_does_not_bypass_the_permission_check(client: Client, dev: Client, paths: NamespacePaths) -> None:
    """The user may read the data source, but not the claim that it points to."""
    lure = build_data_source("lure")
    assert dev.post(name_sources(paths), lure).status == 403
    assert client.post(name_sources(paths), lure).status == 201
    assert expand(dev, paths, **from_data_source("lure", paths.namespace)).status == 403

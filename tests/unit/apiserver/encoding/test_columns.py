"""Table columns of each kind, with the same names and values as in Kubernetes and KubeVirt."""

import json
from typing import Any

import pytest

from virtshape.api.codec import from_tree
from virtshape.api.kinds import find_kind
from virtshape.api.model import JsonObject
from virtshape.apiserver.encoding.table import render_table

CREATED = "2024-01-01T00:00:00Z"
NOW = 1704067200.0 + 90


def show(api_version: str, kind_name: str, **parts: Any) -> JsonObject:
    """Return the cells of an object by column name; the object must be valid for its kind."""
    kind = find_kind(api_version, kind_name)
    assert kind is not None
    metadata = {"name": "one", "creationTimestamp": CREATED} | parts.pop("metadata", {})
    tree = {"apiVersion": api_version, "kind": kind_name, "metadata": metadata} | parts
    from_tree(tree, kind.struct)
    table = json.loads(render_table(kind, [json.dumps(tree).encode()], now=NOW))
    names = [column["name"] for column in table["columnDefinitions"]]
    return dict(zip(names, table["rows"][0]["cells"], strict=True))


def test_table_columns_of_a_vm_show_its_fields() -> None:
    cells = show(
        "kubevirt.io/v1",
        "VirtualMachine",
        spec={
            "template": {"spec": {"domain": {"devices": {}}}},
            "instancetype": {"name": "u1.medium"},
            "preference": {"name": "fedora"},
        },
        status={
            "printableStatus": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "effective": {"vcpus": 2, "memory": "4Gi", "topology": "2x1x1"},
        },
    )
    assert cells == {
        "Name": "one",
        "Age": "90s",
        "Status": "Running",
        "Ready": "True",
        "vCPU": 2,
        "Memory": "4Gi",
        "Instancetype": "u1.medium",
        "Preference": "fedora",
    }


def test_table_columns_of_a_vmi_show_its_fields() -> None:
    cells = show(
        "kubevirt.io/v1",
        "VirtualMachineInstance",
        spec={"domain": {"devices": {}}},
        status={
            "phase": "Running",
            "nodeName": "node1",
            "interfaces": [{"ipAddress": "10.0.0.2"}, {"ipAddress": "10.0.0.3"}],
            "conditions": [{"type": "Ready", "status": "False"}, {"type": "LiveMigratable", "status": "True"}],
        },
    )
    assert cells == {
        "Name": "one",
        "Age": "90s",
        "Phase": "Running",
        "IP": "10.0.0.2",
        "NodeName": "node1",
        "Ready": "False",
        "Live-Migratable": "True",
        "Paused": None,
    }


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1", "v1alpha2", "v1alpha1"])
@pytest.mark.parametrize(
    ("cpu", "vcpus", "topology"),
    [
        pytest.param({"guest": 4}, 4, None, id="number"),
        pytest.param({"topology": {"sockets": 2, "threads": 2}}, 4, "2x1x2", id="topology"),
    ],
)
def test_table_columns_of_an_instancetype_show_its_size(
    version: str, cpu: JsonObject, vcpus: int, topology: str | None
) -> None:
    cells = show(
        f"instancetype.kubevirt.io/{version}",
        "VirtualMachineClusterInstancetype",
        spec={"cpu": cpu | {"dedicatedCPUPlacement": True}, "memory": {"guest": "8Gi"}},
    )
    assert cells == {
        "Name": "one",
        "vCPU": vcpus,
        "Memory": "8Gi",
        "Topology": topology,
        "Dedicated": True,
        "Age": "90s",
        "Lifecycle": "active",
    }


@pytest.mark.parametrize(
    ("labels", "state"),
    [
        ({"virtshape.io/lifecycle": "retired"}, "retired"),
        ({"instancetype.kubevirt.io/deprecated": "true"}, "deprecated"),
        (None, "active"),
    ],
)
@pytest.mark.parametrize("kind", ["VirtualMachineClusterInstancetype", "VirtualMachinePreference"])
def test_lifecycle_column_shows_the_state_from_the_labels(kind: str, labels: dict[str, str] | None, state: str) -> None:
    cells = show("instancetype.kubevirt.io/v1beta2", kind, spec={}, metadata={"labels": labels})
    assert cells["Lifecycle"] == state


def test_instancetype_without_sizes_has_empty_table_cells() -> None:
    cells = show("instancetype.kubevirt.io/v1beta2", "VirtualMachineInstancetype", spec={})
    sizes = {"vCPU": None, "Memory": None, "Topology": None, "Dedicated": None}
    assert cells == {"Name": "one", **sizes, "Age": "90s", "Lifecycle": "active"}


def test_table_columns_of_a_preference_show_its_fields() -> None:
    cells = show(
        "instancetype.kubevirt.io/v1beta2",
        "VirtualMachinePreference",
        spec={
            "cpu": {"preferredCPUTopology": "spread"},
            "devices": {"preferredDiskBus": "virtio"},
            "requirements": {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}},
        },
    )
    assert cells == {
        "Name": "one",
        "Age": "90s",
        "Topology": "spread",
        "Disk-Bus": "virtio",
        "Min-vCPU": 2,
        "Min-Memory": "2Gi",
        "Lifecycle": "active",
    }


def test_table_columns_of_a_data_volume_show_its_status() -> None:
    cells = show(
        "cdi.kubevirt.io/v1beta1",
        "DataVolume",
        spec={},
        status={"phase": "ImportInProgress", "progress": "40.1%", "restartCount": 1},
    )
    assert cells == {"Name": "one", "Phase": "ImportInProgress", "Progress": "40.1%", "Restarts": 1, "Age": "90s"}


def test_table_columns_of_a_claim_show_its_status() -> None:
    cells = show(
        "v1",
        "PersistentVolumeClaim",
        spec={"volumeName": "pv1", "storageClassName": "local", "volumeMode": "Block"},
        status={
            "phase": "Bound",
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
        },
    )
    assert cells == {
        "Name": "one",
        "Status": "Bound",
        "Volume": "pv1",
        "Capacity": "10Gi",
        "Access Modes": "RWO,RWX",
        "StorageClass": "local",
        "VolumeAttributesClass": "<unset>",
        "Age": "90s",
        "VolumeMode": "Block",
    }


def test_deleted_claim_has_the_status_terminating() -> None:
    cells = show("v1", "PersistentVolumeClaim", metadata={"deletionTimestamp": CREATED}, status={"phase": "Bound"})
    assert cells["Status"] == "Terminating"


def test_table_columns_of_a_persistent_volume_show_its_status() -> None:
    cells = show(
        "v1",
        "PersistentVolume",
        spec={
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"namespace": "default", "name": "disk"},
            "storageClassName": "local",
        },
        status={"phase": "Bound"},
    )
    assert (cells["Claim"], cells["Reclaim Policy"], cells["Access Modes"]) == ("default/disk", "Delete", "RWO")


@pytest.mark.parametrize(
    ("annotations", "name"),
    [({"storageclass.kubernetes.io/is-default-class": "true"}, "one (default)"), ({}, "one")],
)
def test_only_the_default_storage_class_is_marked_as_default(annotations: JsonObject, name: str) -> None:
    cells = show("storage.k8s.io/v1", "StorageClass", metadata={"annotations": annotations}, provisioner="local")
    assert cells == {
        "Name": name,
        "Provisioner": "local",
        "ReclaimPolicy": "Delete",
        "VolumeBindingMode": "Immediate",
        "AllowVolumeExpansion": False,
        "Age": "90s",
    }


@pytest.mark.parametrize(
    ("ready", "unschedulable", "status"),
    [
        ("True", None, "Ready"),
        ("False", None, "NotReady"),
        ("Unknown", None, "NotReady"),
        (None, None, "Unknown"),
        ("True", True, "Ready,SchedulingDisabled"),
    ],
)
def test_node_status_shows_readiness_and_scheduling(ready: str | None, unschedulable: bool | None, status: str) -> None:
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    cells = show("v1", "Node", spec={"unschedulable": unschedulable}, status={"conditions": conditions})
    assert cells["Status"] == status


@pytest.mark.parametrize(
    ("labels", "roles"),
    [
        ({}, "<none>"),
        ({"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": ""}, "control-plane,worker"),
        ({"kubernetes.io/role": "edge"}, "edge"),
    ],
)
def test_table_columns_of_a_node_show_its_roles(labels: JsonObject, roles: str) -> None:
    assert show("v1", "Node", metadata={"labels": labels})["Roles"] == roles


def test_table_columns_of_a_node_show_its_addresses() -> None:
    addresses = [{"type": "Hostname", "address": "n"}, {"type": "InternalIP", "address": "10.0.0.1"}]
    cells = show("v1", "Node", status={"addresses": addresses})
    assert (cells["Internal-IP"], cells["External-IP"]) == ("10.0.0.1", "<none>")


def build_container_status(*, ready: bool = False, restarts: int = 0, state: JsonObject | None = None) -> JsonObject:
    return {
        "name": "c",
        "image": "i",
        "imageID": "",
        "ready": ready,
        "restartCount": restarts,
        "state": state or {"running": {}},
    }


@pytest.mark.parametrize(
    ("status", "metadata", "shown"),
    [
        pytest.param({"phase": "Pending"}, {}, "Pending", id="phase"),
        pytest.param({"phase": "Failed", "reason": "Evicted"}, {}, "Evicted", id="reason"),
        pytest.param(
            {
                "phase": "Pending",
                "containerStatuses": [build_container_status(state={"waiting": {"reason": "Pulling"}})],
            },
            {},
            "Pulling",
            id="container waiting",
        ),
        pytest.param({"phase": "Running"}, {"deletionTimestamp": CREATED}, "Terminating", id="terminating"),
        pytest.param(
            {"phase": "Running", "reason": "NodeLost"}, {"deletionTimestamp": CREATED}, "Unknown", id="node lost"
        ),
    ],
)
def test_pod_status_shows_phase_or_reason(status: JsonObject, metadata: JsonObject, shown: str) -> None:
    assert show("v1", "Pod", metadata=metadata, status=status)["Status"] == shown


def test_pod_containers_and_restarts_are_counted() -> None:
    cells = show(
        "v1",
        "Pod",
        spec={"containers": [{"name": "a"}, {"name": "b"}], "nodeName": "node1", "readinessGates": []},
        status={
            "phase": "Running",
            "podIP": "10.0.0.9",
            "containerStatuses": [build_container_status(ready=True, restarts=2), build_container_status(restarts=1)],
        },
    )
    assert cells == {
        "Name": "one",
        "Ready": "1/2",
        "Status": "Running",
        "Restarts": "3",
        "Age": "90s",
        "IP": "10.0.0.9",
        "Node": "node1",
        "Nominated Node": "<none>",
        "Readiness Gates": "<none>",
    }


def test_table_columns_of_a_deployment_show_its_replicas() -> None:
    template = {"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]}}
    cells = show(
        "apps/v1",
        "Deployment",
        spec={"selector": {"matchLabels": {"app": "web"}}, "template": template, "replicas": 2},
        status={"readyReplicas": 1, "updatedReplicas": 2},
    )
    assert cells == {
        "Name": "one",
        "Ready": "1/2",
        "Up-to-date": 2,
        "Available": 0,
        "Age": "90s",
        "Containers": "a,b",
        "Images": "x,y",
        "Selector": "app=web",
    }


@pytest.mark.parametrize(
    ("spec", "status", "address"),
    [
        ({"type": "ClusterIP"}, {}, "<none>"),
        ({"type": "ClusterIP", "externalIPs": ["1.2.3.4"]}, {}, "1.2.3.4"),
        ({"type": "LoadBalancer"}, {}, "<pending>"),
        ({"type": "LoadBalancer"}, {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}, "1.2.3.4"),
        ({"type": "ExternalName", "externalName": "example.com"}, {}, "example.com"),
    ],
)
def test_table_columns_of_a_service_show_its_external_address(
    spec: JsonObject, status: JsonObject, address: str
) -> None:
    assert show("v1", "Service", spec=spec, status=status)["External-IP"] == address


def test_table_columns_of_a_service_show_its_ports() -> None:
    ports = [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]
    assert show("v1", "Service", spec={"ports": ports})["Port(s)"] == "80:30080/TCP,53/UDP"


def test_table_columns_of_a_controller_revision_show_owner_and_revision() -> None:
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "web", "uid": "1", "controller": True}
    cells = show("apps/v1", "ControllerRevision", metadata={"ownerReferences": [owner]}, revision=3)
    assert cells == {"Name": "one", "Controller": "virtualmachine.kubevirt.io/web", "Revision": 3, "Age": "90s"}


def test_table_columns_of_an_event_show_its_fields() -> None:
    cells = show(
        "v1",
        "Event",
        involvedObject={"kind": "VirtualMachine", "name": "web"},
        firstTimestamp=CREATED,
        lastTimestamp="2024-01-01T00:01:00Z",
        count=4,
        type="Normal",
        reason="Started",
        message="VM started\n",
        source={"component": "vm-controller"},
    )
    assert cells == {
        "Last Seen": "30s",
        "Type": "Normal",
        "Reason": "Started",
        "Object": "virtualmachine/web",
        "Subobject": "",
        "Source": "vm-controller",
        "Message": "VM started",
        "First Seen": "90s",
        "Count": "4",
        "Name": "one",
    }


def test_table_columns_of_a_role_binding_show_role_and_subjects() -> None:
    cells = show(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        subjects=[
            {"kind": "User", "name": "ann"},
            {"kind": "Group", "name": "dev"},
            {"kind": "ServiceAccount", "name": "bot", "namespace": "ci"},
        ],
    )
    assert cells == {
        "Name": "one",
        "Role": "ClusterRole/view",
        "Age": "90s",
        "Users": "ann",
        "Groups": "dev",
        "ServiceAccounts": "ci/bot",
    }


@pytest.mark.parametrize(
    ("api_version", "kind", "parts", "cells"),
    [
        ("v1", "Namespace", {"status": {"phase": "Active"}}, {"Name": "one", "Status": "Active", "Age": "90s"}),
        (
            "v1",
            "Secret",
            {"type": "Opaque", "data": {"a": "Yg=="}},
            {"Name": "one", "Type": "Opaque", "Data": 1, "Age": "90s"},
        ),
        (
            "v1",
            "ConfigMap",
            {"data": {"a": "b"}, "binaryData": {"c": "ZA=="}},
            {"Name": "one", "Data": 2, "Age": "90s"},
        ),
        ("v1", "ServiceAccount", {"secrets": [{"name": "s"}]}, {"Name": "one", "Secrets": 1, "Age": "90s"}),
        (
            "coordination.k8s.io/v1",
            "Lease",
            {"spec": {"holderIdentity": "me"}},
            {"Name": "one", "Holder": "me", "Age": "90s"},
        ),
        ("rbac.authorization.k8s.io/v1", "Role", {}, {"Name": "one", "Created At": CREATED}),
        (
            "kubevirt.io/v1",
            "KubeVirt",
            {"spec": {}, "status": {"phase": "Deployed"}},
            {"Name": "one", "Age": "90s", "Phase": "Deployed"},
        ),
    ],
    ids=["Namespace", "Secret", "ConfigMap", "ServiceAccount", "Lease", "Role", "KubeVirt"],
)
def test_table_columns_of_simple_kinds_show_their_fields(
    api_version: str, kind: str, parts: JsonObject, cells: JsonObject
) -> None:
    assert show(api_version, kind, **parts) == cells

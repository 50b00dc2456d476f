"""The node object of the machine."""

import pytest
from tests.support.instances import STAMP, build_vmi

from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject
from virtshape.launcher.host import Host, Isolation
from virtshape.standalone.guests.node import choose_cpus, count_cpus, describe_node


def test_node_reports_capacity_and_labels_of_the_machine() -> None:
    host = Host(
        kvm=True,
        cpus=(0, 1, 2, 3),
        memory=8 * 1024**3,
        hugepages={"2Mi": 512, "1Gi": 2},
        machine_types=frozenset({"pc-q35-7.2"}),
        machine_aliases={"q35": "pc-q35-7.2"},
        cpu_models=frozenset({"Westmere"}),
        devices={"vendor.com/gpu": ("0000:01:00.0", "0000:02:00.0")},
    )
    offered = {
        "cpu": "4",
        "memory": "8Gi",
        "hugepages-2Mi": "1Gi",
        "hugepages-1Gi": "2Gi",
        "vendor.com/gpu": "2",
        "devices.kubevirt.io/kvm": "1k",
    }
    message = "guests run with KVM"
    assert to_tree(describe_node(host, "here", STAMP)) == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "here",
            "labels": {
                "kubernetes.io/hostname": "here",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                "kubevirt.io/schedulable": "true",
                "cpumanager": "true",
                "cpu-model.node.kubevirt.io/Westmere": "true",
                "machine-type.node.kubevirt.io/pc-q35-7.2": "true",
                "machine-type.node.kubevirt.io/q35": "true",
            },
            "annotations": {"virtshape.io/description": message},
        },
        "status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": "here"}],
            "allocatable": offered,
            "capacity": offered,
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "lastHeartbeatTime": STAMP,
                    "lastTransitionTime": STAMP,
                    "reason": "LauncherReady",
                    "message": message,
                },
                {
                    "type": "GuestNetworkReady",
                    "status": "True",
                    "lastHeartbeatTime": STAMP,
                    "lastTransitionTime": STAMP,
                    "reason": "NotIsolated",
                    "message": "guests share the machine's network namespace",
                },
            ],
        },
    }


def test_node_without_kvm_reports_emulated_cpu_models() -> None:
    node = describe_node(Host(cpus=(0,), cpu_models=frozenset({"Westmere"})), "here", STAMP)
    assert node.metadata.annotations == {
        "virtshape.io/description": "guests are emulated: KVM does not work on this machine"
    }
    assert "cpu-model.node.kubevirt.io/Westmere" in (node.metadata.labels or {})
    assert "devices.kubevirt.io/kvm" not in ((node.status and node.status.capacity) or {})


def test_node_without_mount_namespaces_reports_the_reason_in_a_condition() -> None:
    node = describe_node(Host(mount_obstacle="unshare: Operation not permitted"), "here", STAMP)
    conditions = (node.status and node.status.conditions) or []
    assert [(condition.type, condition.status, condition.reason) for condition in conditions] == [
        ("Ready", "True", "LauncherReady"),
        ("GuestsIsolated", "False", "NoMountNamespace"),
        ("GuestNetworkReady", "True", "NotIsolated"),
    ]
    assert "without a mount namespace (unshare: Operation not permitted)" in (conditions[1].message or "")
    assert "CAP_SYS_ADMIN" in (conditions[1].message or "")


@pytest.mark.parametrize(
    ("isolation", "reason", "expected"),
    [
        ("namespace", "", ("True", "NetworkNamespaces", "with access to the internet")),
        ("restricted", "pasta is missing", ("False", "NoNetworkNamespaces", "forwarded ports: pasta is missing")),
    ],
)
def test_node_reports_the_network_isolation_of_guests_in_a_condition(
    isolation: Isolation, reason: str, expected: tuple[str, str, str]
) -> None:
    node = describe_node(Host(isolation=isolation, isolation_reason=reason), "here", STAMP)
    assert node.status is not None
    found = {one.type: one for one in node.status.conditions or ()}["GuestNetworkReady"]
    assert (found.status, found.reason) == expected[:2]
    assert expected[2] in (found.message or "")


@pytest.mark.parametrize(
    ("cpu", "count"),
    [
        (None, 0),
        ({"sockets": 2}, 0),
        ({"sockets": 2, "cores": 2, "threads": 1, "dedicatedCpuPlacement": True}, 4),
        ({"sockets": 2, "dedicatedCpuPlacement": True, "isolateEmulatorThread": True}, 3),
    ],
)
def test_number_of_dedicated_cpus_includes_an_isolated_emulator_thread(cpu: JsonObject | None, count: int) -> None:
    assert count_cpus(build_vmi(domain={"cpu": cpu}).spec) == count


@pytest.mark.parametrize(
    ("count", "taken", "chosen"), [(2, [], (0, 1)), (2, [0, 2], (1, 3)), (3, [0, 2], None), (0, [0, 1, 2, 3], ())]
)
def test_dedicated_cpus_are_chosen_from_free_cpus(count: int, taken: list[int], chosen: tuple[int, ...] | None) -> None:
    assert choose_cpus(count, (3, 2, 1, 0), taken) == chosen

"""Launcher pods: complete pods and single fields."""

from typing import Any

import pytest
from tests.support.instances import build_vmi

from virtshape.api.codec import decode, from_tree, to_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.launcherpod import CLAIM_SIZES_VARIABLE, INSTANCE_VARIABLE, parse_claim_sizes
from virtshape.api.model import JsonObject
from virtshape.controllers.pods.build import build_launcher_pod, explain_refusal
from virtshape.controllers.pods.naming import name_pod, shorten_label
from virtshape.controllers.pods.provisioning import build_first_consumer

GI = {"memory": {"guest": "1Gi"}}
TEMPORARY = "/tmp"  # noqa: S108 - a directory inside the container


def build(**spec: Any) -> JsonObject:
    tree: JsonObject = to_tree(build_launcher_pod(build_vmi(**{"domain": GI, **spec}), None, "virtshape-launcher:1"))
    return tree


def test_launcher_pod_of_a_small_guest_is_complete() -> None:
    pod = build()
    environment = pod["spec"]["containers"][0].pop("env")
    assert [one["name"] for one in environment] == [INSTANCE_VARIABLE]
    assert pod == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "virt-launcher-vm1-4cd9b7672d",
            "namespace": "default",
            "labels": {
                "vmi.kubevirt.io/id": "vm1",
                "kubevirt.io": "virt-launcher",
                "kubevirt.io/created-by": "i1",
                "vm.kubevirt.io/name": "vm1",
            },
            "annotations": {"kubevirt.io/domain": "vm1", "kubectl.kubernetes.io/default-container": "compute"},
            "ownerReferences": [
                {
                    "apiVersion": "kubevirt.io/v1",
                    "kind": "VirtualMachineInstance",
                    "name": "vm1",
                    "uid": "i1",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "containers": [
                {
                    "name": "compute",
                    "image": "virtshape-launcher:1",
                    "command": ["virtshape", "launcher", "--pod"],
                    "startupProbe": {
                        "exec": {"command": ["test", "-e", "/run/virtshape/started"]},
                        "periodSeconds": 1,
                        "timeoutSeconds": 5,
                        "failureThreshold": 86400,
                    },
                    "resources": {
                        "requests": {
                            "cpu": "100m",
                            "memory": "1294Mi",
                            "ephemeral-storage": "50M",
                            "devices.kubevirt.io/kvm": "1",
                        },
                        "limits": {"devices.kubevirt.io/kvm": "1"},
                    },
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                        "readOnlyRootFilesystem": True,
                    },
                    "volumeMounts": [
                        {"name": "virtshape-run", "mountPath": "/run/virtshape"},
                        {"name": "virtshape-tmp", "mountPath": TEMPORARY},
                    ],
                }
            ],
            "volumes": [{"name": "virtshape-run", "emptyDir": {}}, {"name": "virtshape-tmp", "emptyDir": {}}],
            "restartPolicy": "Never",
            "hostname": "vm1",
            "nodeSelector": {"kubernetes.io/arch": "amd64"},
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 45,
            "securityContext": {
                "runAsUser": 107,
                "runAsGroup": 107,
                "runAsNonRoot": True,
                "fsGroup": 107,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        },
    }


@pytest.mark.parametrize(("stated", "period"), [({}, 10), ({"periodSeconds": 3}, 3)], ids=["default", "own period"])
def test_pod_has_a_readiness_probe_only_if_the_guest_has_one(stated: JsonObject, period: int) -> None:
    (container,) = build(readinessProbe={"tcpSocket": {"port": 80}, **stated})["spec"]["containers"]
    assert container["readinessProbe"] == {
        "exec": {"command": ["test", "-e", "/run/virtshape/running"]},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": 1,
    }


def test_pod_has_its_claim_sizes_in_an_environment_variable() -> None:
    vmi = build_vmi(domain=GI, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}])
    pod = build_launcher_pod(vmi, None, "i", claim_sizes={"data": 1024**3})
    assert pod.spec is not None
    variables = {one.name: one.value for one in pod.spec.containers[0].env or ()}
    assert parse_claim_sizes(variables[CLAIM_SIZES_VARIABLE] or "") == {"data": 1024**3}


AFFINITY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}
SPREAD = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]

PARTS: dict[str, tuple[dict[str, Any], JsonObject]] = {
    "node selector": (
        {"nodeSelector": {"disk": "ssd"}, "architecture": "arm64"},
        {"nodeSelector": {"disk": "ssd", "kubernetes.io/arch": "arm64"}},
    ),
    "nodes for dedicated CPUs": (
        {"domain": {**GI, "cpu": {"dedicatedCpuPlacement": True}}},
        {"nodeSelector": {"kubernetes.io/arch": "amd64", "cpumanager": "true"}},
    ),
    "affinity": ({"affinity": AFFINITY}, {"affinity": AFFINITY}),
    "tolerations": (
        {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
        {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
    ),
    "topology spread constraints": ({"topologySpreadConstraints": SPREAD}, {"topologySpreadConstraints": SPREAD}),
    "scheduler": ({"schedulerName": "mine"}, {"schedulerName": "mine"}),
    "priority class": ({"priorityClassName": "high"}, {"priorityClassName": "high"}),
    "grace period": ({"terminationGracePeriodSeconds": 180}, {"terminationGracePeriodSeconds": 195}),
    "zero grace period": ({"terminationGracePeriodSeconds": 0}, {"terminationGracePeriodSeconds": 15}),
    "hostname and subdomain": (
        {"hostname": "www", "subdomain": "web", "dnsPolicy": "Default"},
        {"hostname": "www", "subdomain": "web", "dnsPolicy": "Default"},
    ),
    "service account token": (
        {"volumes": [{"name": "t", "serviceAccount": {"serviceAccountName": "robot"}}]},
        {"serviceAccountName": "robot", "automountServiceAccountToken": True},
    ),
}


@pytest.mark.parametrize(("spec", "part"), PARTS.values(), ids=PARTS.keys())
def test_instance_field_sets_the_corresponding_pod_field(spec: dict[str, Any], part: JsonObject) -> None:
    built = build(**spec)["spec"]
    assert {key: built.get(key) for key in part} == part


def test_interface_ports_become_container_ports() -> None:
    ports = [{"port": 80, "name": "http"}, {"port": 53, "protocol": "UDP"}]
    built = build(domain={**GI, "devices": {"interfaces": [{"name": "default", "masquerade": {}, "ports": ports}]}})
    assert built["spec"]["containers"][0]["ports"] == [
        {"containerPort": 80, "name": "http"},
        {"containerPort": 53, "protocol": "UDP"},
    ]


def test_pod_has_its_instance_in_an_environment_variable() -> None:
    vmi = build_vmi("Running", domain=GI, annotations={"a": "b"})
    pod = build_launcher_pod(vmi, None, "i")
    assert pod.spec is not None
    (variable,) = pod.spec.containers[0].env or []
    reported = decode((variable.value or "").encode(), VirtualMachineInstance)
    assert (reported.spec, reported.status) == (vmi.spec, None)
    assert (reported.metadata.uid, reported.metadata.annotations) == ("i1", {"a": "b"})


def test_last_applied_annotation_is_not_copied_to_the_pod() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "team": "a"}
    assert build(annotations=annotations)["metadata"]["annotations"] == {
        "team": "a",
        "kubevirt.io/domain": "vm1",
        "kubectl.kubernetes.io/default-container": "compute",
    }


def test_security_annotations_of_an_instance_are_not_copied_to_its_pod() -> None:
    annotations = {
        "container.apparmor.security.beta.kubernetes.io/compute": "unconfined",
        "container.seccomp.security.alpha.kubernetes.io/compute": "unconfined",
        "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
    }
    assert build(annotations=annotations)["metadata"]["annotations"].keys().isdisjoint(annotations)


def test_pod_name_derives_from_the_instance_and_is_short_enough() -> None:
    names = {name_pod(build_vmi(name="n" * 253, uid=uid)) for uid in ("a", "b")}
    assert len(names) == 2
    assert {len(name) for name in names} == {253}
    assert len(shorten_label("n" * 64)) == 63
    assert shorten_label("short") == "short"


def test_first_consumer_pod_has_the_claims_and_constraints_of_the_guest() -> None:
    vmi = build_vmi(
        domain=GI,
        nodeSelector={"disk": "ssd"},
        volumes=[{"name": "d", "dataVolume": {"name": "d"}}, {"name": "s", "secret": {"secretName": "s"}}],
    )
    tree = to_tree(build_first_consumer(vmi, None, "i", ["d"]))
    assert tree["metadata"]["labels"]["kubevirt.io"] == "virt-provision"
    assert "vmi.kubevirt.io/id" not in tree["metadata"]["labels"], "a Service does not select it"
    assert tree["spec"]["volumes"] == [{"name": "d", "persistentVolumeClaim": {"claimName": "d"}}]
    assert tree["spec"]["containers"][0]["volumeDevices"] == [{"name": "d", "devicePath": "/dev/virtshape-d"}]
    assert tree["spec"]["nodeSelector"] == {"kubernetes.io/arch": "amd64", "disk": "ssd"}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({"networks": [{"name": "default", "pod": {}}]}, ""),
    "persistent TPM": ({"domain": {"devices": {"tpm": {"persistent": True}}}}, ""),
    "shared directory": (
        {"domain": {"devices": {"filesystems": [{"name": "f", "virtiofs": {}}]}}},
        "spec.domain.devices.filesystems[0]: f cannot be shared with a guest in a pod",
    ),
    "host disk without the feature gate": (
        {"volumes": [{"name": "d", "hostDisk": {"path": "/etc/shadow", "type": "Disk"}}]},
        (
            "spec.volumes[0].hostDisk: HostDisk feature gate is not enabled: an administrator must add HostDisk to "
            "spec.configuration.developerConfiguration.featureGates"
        ),
    ),
    "device that is not permitted": (
        {"domain": {"devices": {"gpus": [{"name": "g", "deviceName": "nvidia.com/T4"}]}}},
        (
            "spec.domain.devices.gpus[0].deviceName: GPU nvidia.com/T4 is not permitted in permittedHostDevices "
            "configuration: no device is permitted"
        ),
    ),
    "secondary network": (
        {"networks": [{"name": "other", "multus": {"networkName": "lan"}}]},
        "spec.networks[0]: a guest in a pod supports only the pod network",
    ),
}


@pytest.mark.parametrize(("spec", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_unsupported_instance_is_refused(spec: dict[str, Any], message: str) -> None:
    assert explain_refusal(build_vmi(**spec).spec, None) == message


@pytest.mark.parametrize(
    ("custom", "profile"),
    [
        ({"localhostProfile": "p.json"}, {"type": "Localhost", "localhostProfile": "p.json"}),
        ({"runtimeDefaultProfile": True}, {"type": "RuntimeDefault"}),
        ({"localhostProfile": "p.json", "runtimeDefaultProfile": True}, {"type": "RuntimeDefault"}),
    ],
    ids=["of the node", "of the runtime", "both"],
)
def test_launcher_pod_has_the_configured_seccomp_profile(custom: JsonObject, profile: JsonObject) -> None:
    seccomp = {"virtualMachineInstanceProfile": {"customProfile": custom}}
    configuration = from_tree({"seccompConfiguration": seccomp}, KubeVirtConfiguration)
    pod = to_tree(build_launcher_pod(build_vmi(domain=GI), configuration, "i"))
    assert pod["spec"]["securityContext"]["seccompProfile"] == profile


@pytest.mark.parametrize(
    ("domain", "limit"),
    [
        ({"cpu": {"sockets": 2}}, "2"),
        ({"cpu": {"sockets": 2}, "resources": {"requests": {"cpu": "3"}}}, "3"),
        ({"cpu": {"sockets": 2}, "resources": {"limits": {"cpu": "5"}}}, "5"),
        ({"cpu": {"sockets": 2, "dedicatedCpuPlacement": True}}, "2"),
    ],
    ids=["vCPUs", "larger request", "own limit", "dedicated CPUs"],
)
def test_pod_in_a_selected_namespace_has_a_cpu_limit(domain: JsonObject, limit: str) -> None:
    selector = {"matchExpressions": [{"key": "team", "operator": "In", "values": ["blue"]}]}
    configuration = from_tree({"autoCPULimitNamespaceLabelSelector": selector}, KubeVirtConfiguration)
    vmi = build_vmi(domain={**GI, **domain})
    limits = []
    for labels in ({"team": "blue"}, {}):
        pod = to_tree(build_launcher_pod(vmi, configuration, "i", namespace_labels=labels))
        limits.append(pod["spec"]["containers"][0]["resources"]["limits"].get("cpu"))
    own = domain.get("resources", {}).get("limits", {}).get("cpu")
    assert limits == [limit, limit if "dedicatedCpuPlacement" in domain["cpu"] else own]

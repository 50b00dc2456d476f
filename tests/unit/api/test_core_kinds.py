"""Objects of the core group and related groups survive a round trip unchanged."""

from typing import Any

import pytest

from virtshape.api import apps, cdi, codec, coordination, deployment, snapshot, storage
from virtshape.api.core import claim, config, event, namespace, node, persistentvolume, podspec, service, serviceaccount
from virtshape.api.model import Model

CONDITION: dict[str, Any] = {
    "type": "Ready",
    "status": "True",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "reason": "AllWell",
    "message": "nothing to complain about",
}

POD_SPEC: dict[str, Any] = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "cpu", "operator": "In", "values": ["new"]}]}]
            }
        }
    },
    "automountServiceAccountToken": False,
    "containers": [
        {
            "name": "compute",
            "image": "images.example/launcher:1",
            "imagePullPolicy": "IfNotPresent",
            "command": ["/usr/bin/launcher", "--name", "vm"],
            "env": [
                {"name": "MODE", "value": ""},
                {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "a", "optional": True}}},
            ],
            "envFrom": [{"prefix": "X_", "configMapRef": {"name": "settings"}}],
            "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
            "livenessProbe": {"grpc": {"port": 9000, "mode": "TLS"}, "periodSeconds": 10},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": "http", "scheme": "HTTPS"}},
            "startupProbe": {"exec": {"command": ["true"]}, "failureThreshold": 30},
            "ports": [{"containerPort": 8443, "hostIP": "127.0.0.1", "protocol": "TCP"}],
            "resources": {
                "claims": [{"name": "gpu"}],
                "limits": {"devices.kubevirt.io/kvm": "1"},
                "requests": {"cpu": "100m", "memory": "2Gi"},
            },
            "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}],
            "securityContext": {
                "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
                "runAsUser": 107,
                "runAsNonRoot": True,
                "seLinuxOptions": {"type": "container_t"},
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "volumeDevices": [{"name": "root", "devicePath": "/dev/root"}],
            "volumeMounts": [{"name": "private", "mountPath": "/var/run/private", "readOnly": False}],
        }
    ],
    "ephemeralContainers": [{"name": "debug", "image": "images.example/shell:1", "targetContainerName": "compute"}],
    "hostIPC": False,
    "hostPID": False,
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
    "securityContext": {"fsGroup": 107, "supplementalGroups": [4000000000], "sysctls": [{"name": "a", "value": "1"}]},
    "setHostnameAsFQDN": True,
    "terminationGracePeriodSeconds": 0,
    "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
    "volumes": [
        {"name": "root", "persistentVolumeClaim": {"claimName": "root"}},
        {"name": "private", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
        {"name": "ceph", "rbd": {"image": "disk", "monitors": ["10.0.0.1"], "secretRef": {"name": "ceph"}}},
        {
            "name": "all",
            "projected": {
                "defaultMode": 420,
                "sources": [
                    {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
                    {"configMap": {"name": "ca", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                ],
            },
        },
        {
            "name": "scratch",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                }
            },
        },
    ],
}

POD_STATUS: dict[str, Any] = {
    "phase": "Running",
    "conditions": [CONDITION | {"observedGeneration": 1}],
    "containerStatuses": [
        {
            "name": "compute",
            "image": "images.example/launcher:1",
            "imageID": "images.example/launcher@sha256:0",
            "containerID": "containerd://1",
            "ready": True,
            "restartCount": 0,
            "started": True,
            "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
            "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
            "user": {"linux": {"uid": 107, "gid": 107, "supplementalGroups": [107]}},
            "volumeMounts": [{"name": "private", "mountPath": "/var/run/private", "recursiveReadOnly": "Disabled"}],
        }
    ],
    "hostIP": "10.0.0.1",
    "hostIPs": [{"ip": "10.0.0.1"}],
    "podIP": "10.244.0.7",
    "podIPs": [{"ip": "10.244.0.7"}, {"ip": "fd10:244::7"}],
    "qosClass": "Burstable",
    "startTime": "2026-01-01T00:00:00Z",
}

CASES: list[tuple[type[Model], str, dict[str, Any]]] = [
    (
        cdi.DataVolume,
        "cdi.kubevirt.io/v1beta1",
        {
            "spec": {
                "contentType": "kubevirt",
                "source": {
                    "registry": {"url": "docker://images.example/fedora:42", "platform": {"architecture": "arm64"}}
                },
                "storage": {"resources": {"requests": {"storage": "30Gi"}}, "volumeMode": "Block"},
            },
            "status": {
                "claimName": "sample",
                "phase": "ImportInProgress",
                "progress": "42.0%",
                "restartCount": 1,
                "conditions": [{"type": "Running", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}],
            },
        },
    ),
    (
        cdi.DataSource,
        "cdi.kubevirt.io/v1beta1",
        {
            "spec": {"source": {"dataSource": {"name": "fedora", "namespace": "images"}}},
            "status": {
                "source": {"snapshot": {"name": "fedora-42", "namespace": "images"}},
                "conditions": [{"type": "Ready", "status": "True", "reason": "Ready"}],
            },
        },
    ),
    (
        cdi.CDIConfig,
        "cdi.kubevirt.io/v1beta1",
        {
            "spec": {"uploadProxyURLOverride": "https://upload.example"},
            "status": {"uploadProxyURL": "https://127.0.0.1:6443", "uploadProxyCA": "-----BEGIN CERTIFICATE-----"},
        },
    ),
    (
        cdi.UploadTokenRequest,
        "upload.cdi.kubevirt.io/v1beta1",
        {"spec": {"pvcName": "sample"}, "status": {"token": "not-a-real-token"}},
    ),
    (
        snapshot.VolumeSnapshot,
        "snapshot.storage.k8s.io/v1",
        {
            "spec": {"source": {"persistentVolumeClaimName": "root"}, "volumeSnapshotClassName": "fast"},
            "status": {
                "boundVolumeSnapshotContentName": "snapcontent-1",
                "creationTime": "2026-01-01T00:00:00Z",
                "readyToUse": False,
                "restoreSize": "30Gi",
                "error": {"message": "timed out", "time": "2026-01-01T00:01:00Z"},
            },
        },
    ),
    (
        apps.ControllerRevision,
        "apps/v1",
        {
            "data": {"apiVersion": "instancetype.kubevirt.io/v1beta2", "spec": {"cpu": {"guest": 2}}, "none": None},
            "revision": 0,
        },
    ),
    (
        namespace.Namespace,
        "v1",
        {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active", "conditions": [CONDITION]}},
    ),
    (
        claim.PersistentVolumeClaim,
        "v1",
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "30Gi"}},
                "storageClassName": "fast",
                "volumeMode": "Block",
                "volumeName": "pv-1",
            },
            "status": {
                "accessModes": ["ReadWriteOnce"],
                "allocatedResources": {"storage": "40Gi"},
                "allocatedResourceStatuses": {"storage": "ControllerResizeInProgress"},
                "capacity": {"storage": "30Gi"},
                "conditions": [CONDITION | {"type": "Resizing", "lastProbeTime": "2026-01-01T00:00:00Z"}],
                "healthStatus": {"healthConditions": [{"status": "Degraded", "reason": "DiskLost"}]},
                "modifyVolumeStatus": {"status": "InProgress", "targetVolumeAttributesClassName": "gold"},
                "phase": "Bound",
            },
        },
    ),
    (config.ConfigMap, "v1", {"data": {"a": "1"}, "binaryData": {"b": "AAE="}, "immutable": True}),
    (config.Secret, "v1", {"data": {"userdata": "I2Nsb3Vk"}, "stringData": {"plain": "text"}, "type": "Opaque"}),
    (
        event.Event,
        "v1",
        {
            "involvedObject": {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "vm", "uid": "u-1"},
            "reason": "Started",
            "message": "started",
            "source": {"component": "vm-controller", "host": "node01"},
            "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": "2026-01-01T00:00:05Z",
            "count": 2,
            "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:05.000000Z"},
            "type": "Normal",
            "reportingComponent": "",
            "reportingInstance": "",
        },
    ),
    (
        serviceaccount.ServiceAccount,
        "v1",
        {
            "secrets": [{"name": "token-1"}],
            "imagePullSecrets": [{"name": "registry"}],
            "automountServiceAccountToken": False,
        },
    ),
    (podspec.Pod, "v1", {"spec": POD_SPEC, "status": POD_STATUS}),
    (
        node.Node,
        "v1",
        {
            "spec": {
                "podCIDR": "10.244.0.0/24",
                "podCIDRs": ["10.244.0.0/24"],
                "providerID": "kind://node01",
                "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
                "unschedulable": True,
            },
            "status": {
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "allocatable": {"cpu": "7500m", "hugepages-2Mi": "0"},
                "capacity": {"cpu": "8", "memory": "32Gi"},
                "conditions": [CONDITION | {"lastHeartbeatTime": "2026-01-01T00:00:00Z"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
                "images": [{"names": ["images.example/launcher:1"], "sizeBytes": 4000000000}],
                "nodeInfo": {
                    "architecture": "amd64",
                    "bootID": "b-1",
                    "containerRuntimeVersion": "containerd://2.1.0",
                    "kernelVersion": "6.12.0",
                    "kubeProxyVersion": "",
                    "kubeletVersion": "v1.37.0",
                    "machineID": "m-1",
                    "operatingSystem": "linux",
                    "osImage": "Debian GNU/Linux 13",
                    "systemUUID": "s-1",
                    "swap": {"capacity": 8589934592},
                },
                "runtimeHandlers": [{"name": "", "features": {"userNamespaces": True}}],
            },
        },
    ),
    (
        persistentvolume.PersistentVolume,
        "v1",
        {
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "capacity": {"storage": "30Gi"},
                "claimRef": {"kind": "PersistentVolumeClaim", "name": "root", "namespace": "prod", "uid": "u-1"},
                "csi": {
                    "driver": "csi.example",
                    "volumeHandle": "0001",
                    "nodeStageSecretRef": {"name": "ceph", "namespace": "storage"},
                    "volumeAttributes": {"pool": "rbd"},
                },
                "nodeAffinity": {
                    "required": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}],
                    }
                },
                "persistentVolumeReclaimPolicy": "Delete",
                "storageClassName": "fast",
                "volumeMode": "Block",
            },
            "status": {"phase": "Bound", "lastPhaseTransitionTime": "2026-01-01T00:00:00Z"},
        },
    ),
    (
        service.Service,
        "v1",
        {
            "spec": {
                "clusterIP": "10.96.0.10",
                "clusterIPs": ["10.96.0.10"],
                "ipFamilies": ["IPv4"],
                "ports": [{"name": "ssh", "port": 22, "targetPort": "ssh", "nodePort": 30022, "protocol": "TCP"}],
                "selector": {"kubevirt.io/vm": "vm"},
                "sessionAffinity": "ClientIP",
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 600}},
                "type": "LoadBalancer",
            },
            "status": {
                "conditions": [CONDITION],
                "loadBalancer": {
                    "ingress": [{"ip": "192.0.2.1", "ipMode": "VIP", "ports": [{"port": 22, "protocol": "TCP"}]}]
                },
            },
        },
    ),
    (
        deployment.Deployment,
        "apps/v1",
        {
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": "controller"}},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
                "template": {"metadata": {"labels": {"app": "controller"}}, "spec": POD_SPEC},
            },
            "status": {
                "availableReplicas": 1,
                "conditions": [CONDITION | {"lastUpdateTime": "2026-01-01T00:00:00Z"}],
                "observedGeneration": 3,
                "replicas": 2,
                "terminatingReplicas": 0,
                "unavailableReplicas": 1,
            },
        },
    ),
    (
        storage.StorageClass,
        "storage.k8s.io/v1",
        {
            "provisioner": "csi.example",
            "allowVolumeExpansion": True,
            "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}],
            "parameters": {"pool": "rbd"},
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
    ),
    (
        coordination.Lease,
        "coordination.k8s.io/v1",
        {
            "spec": {
                "holderIdentity": "controller-1",
                "leaseDurationSeconds": 15,
                "acquireTime": "2026-01-01T00:00:00.000000Z",
                "renewTime": "2026-01-01T00:00:10.000000Z",
                "leaseTransitions": 0,
            }
        },
    ),
]


@pytest.mark.parametrize(
    ("struct", "api_version", "body"),
    CASES,
    ids=[f"{api_version} {struct.__name__}" for struct, api_version, _ in CASES],
)
def test_core_object_round_trips_through_json_unchanged(
    struct: type[Model], api_version: str, body: dict[str, Any]
) -> None:
    tree = {"apiVersion": api_version, "kind": struct.__name__, "metadata": {"name": "sample"}, **body}
    assert codec.to_tree(codec.decode(codec.encode(tree), struct)) == tree

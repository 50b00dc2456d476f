"""Pod volumes for the volumes of an instance."""

from typing import Any

import pytest
from tests.support.instances import build_vmi

from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject
from virtshape.controllers.pods.volumes import list_pod_volumes, list_pull_secrets

AT = "/run/virtshape/mounts/v"
TEMPORARY = "/tmp"  # noqa: S108 - a directory of the container's own


def mounted(source: JsonObject, *, read_only: bool = True, at: str = AT) -> JsonObject:
    mount: JsonObject = {"name": "v", "mountPath": at}
    return {"volume": {"name": "v", **source}, "mount": {**mount, "readOnly": True} if read_only else mount}


SOURCES: dict[str, tuple[JsonObject, list[JsonObject]]] = {
    "a claim": (
        {"persistentVolumeClaim": {"claimName": "c"}},
        [mounted({"persistentVolumeClaim": {"claimName": "c"}}, read_only=False)],
    ),
    "read-only claim": (
        {"persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
        [mounted({"persistentVolumeClaim": {"claimName": "c", "readOnly": True}})],
    ),
    "DataVolume": (
        {"dataVolume": {"name": "d"}},
        [mounted({"persistentVolumeClaim": {"claimName": "d"}}, read_only=False)],
    ),
    "ephemeral claim": (
        {"ephemeral": {"persistentVolumeClaim": {"claimName": "c"}}},
        [mounted({"persistentVolumeClaim": {"claimName": "c", "readOnly": True}})],
    ),
    "a block device": (
        {"persistentVolumeClaim": {"claimName": "raw"}},
        [
            {
                "volume": {"name": "v", "persistentVolumeClaim": {"claimName": "raw"}},
                "device": {"name": "v", "devicePath": "/dev/virtshape-v"},
            }
        ],
    ),
    "demo guest of the launcher image": ({"containerDisk": {"image": "virtshape.local/demo"}}, []),
    "a container disk": (
        {"containerDisk": {"image": "demo:1", "imagePullPolicy": "Always"}},
        [mounted({"image": {"pullPolicy": "Always", "reference": "demo:1"}})],
    ),
    "a config map": (
        {"configMap": {"name": "m", "optional": True, "volumeLabel": "cfg"}},
        [mounted({"configMap": {"name": "m", "optional": True}})],
    ),
    "a secret": ({"secret": {"secretName": "s"}}, [mounted({"secret": {"secretName": "s"}})]),
    "sysprep from a ConfigMap": (
        {"sysprep": {"configMap": {"name": "m"}}},
        [mounted({"configMap": {"name": "m"}})],
    ),
    "sysprep from a Secret": (
        {"sysprep": {"secret": {"name": "s"}}},
        [mounted({"secret": {"secretName": "s"}})],
    ),
    "facts": (
        {"downwardAPI": {"fields": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        [mounted({"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}})],
    ),
    "inline cloud-init": ({"cloudInitNoCloud": {"userData": "#cloud-config"}}, []),
    "cloud-init in a secret": (
        {"cloudInitNoCloud": {"secretRef": {"name": "s"}, "networkDataSecretRef": {"name": "s"}}},
        [mounted({"secret": {"secretName": "s"}})],
    ),
    "cloud-init in two secrets": (
        {"cloudInitConfigDrive": {"secretRef": {"name": "u"}, "networkDataSecretRef": {"name": "n"}}},
        [mounted({"projected": {"sources": [{"secret": {"name": "n"}}, {"secret": {"name": "u"}}]}})],
    ),
    "host disk": (
        {"hostDisk": {"path": "/data/a.img", "type": "DiskOrCreate", "capacity": "1Gi"}},
        [mounted({"hostPath": {"path": "/data", "type": "DirectoryOrCreate"}}, read_only=False, at="/data")],
    ),
    "empty disk": ({"emptyDisk": {"capacity": "1Gi"}}, []),
    "service account": ({"serviceAccount": {"serviceAccountName": "a"}}, []),
}


@pytest.mark.parametrize(("source", "volumes"), SOURCES.values(), ids=SOURCES.keys())
def test_instance_volume_becomes_a_pod_volume(source: JsonObject, volumes: list[JsonObject]) -> None:
    vmi = build_vmi(volumes=[{"name": "v", **source}])
    found = [one for one in list_pod_volumes(vmi, ["raw"]) if not one.volume.name.startswith("virtshape-")]
    assert [{key: to_tree(value) for key, value in one._asdict().items() if value is not None} for one in found] == (
        volumes
    )


WORKPLACES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "always": ({}, {"virtshape-run": "/run/virtshape", "virtshape-tmp": TEMPORARY}),
    "with huge pages": (
        {"domain": {"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}}},
        {"virtshape-run": "/run/virtshape", "virtshape-tmp": TEMPORARY, "virtshape-hugepages": "/dev/hugepages"},
    ),
    "with persistent state": (
        {"domain": {"devices": {"tpm": {"persistent": True}}}},
        {
            "virtshape-run": "/run/virtshape",
            "virtshape-tmp": TEMPORARY,
            "virtshape-state": "/run/virtshape/state",
        },
    ),
    "with SSH keys from Secrets": (
        {
            "accessCredentials": [
                {"sshPublicKey": {"source": {"secret": {"secretName": "k"}}, "propagationMethod": {"noCloud": {}}}},
                {"sshPublicKey": {"source": {"secret": {"secretName": "k"}}, "propagationMethod": {"noCloud": {}}}},
            ]
        },
        {
            "virtshape-run": "/run/virtshape",
            "virtshape-tmp": TEMPORARY,
            "virtshape-credential-0": "/run/virtshape/mounts/k-access-cred",
        },
    ),
    "with a kernel image": (
        {"domain": {"firmware": {"kernelBoot": {"container": {"image": "k:1", "kernelPath": "/vmlinuz"}}}}},
        {
            "virtshape-run": "/run/virtshape",
            "virtshape-tmp": TEMPORARY,
            "virtshape-kernel": "/run/virtshape/mounts/kernelBoot",
        },
    ),
}


@pytest.mark.parametrize(("spec", "mounts"), WORKPLACES.values(), ids=WORKPLACES.keys())
def test_launcher_pod_has_mounts_for_its_working_directories(spec: dict[str, Any], mounts: dict[str, str]) -> None:
    found = list_pod_volumes(build_vmi(**spec))
    assert {one.volume.name: one.mount.mount_path for one in found if one.mount is not None} == mounts


def test_pull_secret_of_several_container_disks_is_listed_once() -> None:
    disks = [{"name": name, "containerDisk": {"image": "i", "imagePullSecret": "login"}} for name in ("a", "b")]
    assert to_tree(list_pull_secrets(build_vmi(volumes=disks).spec)) == [{"name": "login"}]

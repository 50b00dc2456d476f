"""Objects that an upload creates."""

from pathlib import Path

from virtshape.api.codec import to_tree
from virtshape.api.quantity import Quantity
from virtshape.cli.upload.objects import UploadRequest, build_claim, build_source, build_volume

SMALL = UploadRequest(kind="pvc", name="fedora", path=Path("x"), size=Quantity("1Gi"))
ALL = UploadRequest(
    kind="dv",
    name="fedora",
    path=Path("x"),
    size=Quantity("1Gi"),
    is_archive=True,
    storage_class="fast",
    access_mode="ReadWriteMany",
    volume_mode="filesystem",
    binds_now=True,
    defaults={"instancetype": ("u1.small", ""), "preference": ("linux", "VirtualMachinePreference")},
)
SIZE = {"resources": {"requests": {"storage": "1Gi"}}}
STORAGE = {"accessModes": ["ReadWriteMany"], "storageClassName": "fast", "volumeMode": "Filesystem", **SIZE}
LABELS = {
    "instancetype.kubevirt.io/default-instancetype": "u1.small",
    "instancetype.kubevirt.io/default-preference": "linux",
    "instancetype.kubevirt.io/default-preference-kind": "VirtualMachinePreference",
}
ANNOTATIONS = {
    "instancetype.kubevirt.io/defaultInstancetype": "u1.small",
    "instancetype.kubevirt.io/defaultPreference": "linux",
    "instancetype.kubevirt.io/defaultPreferenceKind": "VirtualMachinePreference",
}
BIND = {"cdi.kubevirt.io/storage.bind.immediate.requested": ""}


def test_claim_has_the_upload_annotation() -> None:
    assert to_tree(build_claim(SMALL, "ns")) == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "fedora",
            "namespace": "ns",
            "annotations": {
                "cdi.kubevirt.io/storage.upload.target": "",
                "cdi.kubevirt.io/storage.contentType": "kubevirt",
            },
        },
        "spec": {"accessModes": ["ReadWriteOnce"], **SIZE},
    }


def test_claim_for_an_upload_has_all_requested_fields() -> None:
    tree = to_tree(build_claim(ALL, "ns"))
    assert tree["spec"] == STORAGE
    assert tree["metadata"]["labels"] == LABELS
    assert tree["metadata"]["annotations"] == {
        **ANNOTATIONS,
        **BIND,
        "cdi.kubevirt.io/storage.upload.target": "",
        "cdi.kubevirt.io/storage.contentType": "archive",
    }


def test_data_volume_for_an_upload_has_only_the_required_fields() -> None:
    assert to_tree(build_volume(SMALL, "ns")) == {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {"name": "fedora", "namespace": "ns"},
        "spec": {"source": {"upload": {}}, "contentType": "kubevirt", "storage": SIZE},
    }


def test_data_volume_for_an_upload_has_all_requested_fields() -> None:
    tree = to_tree(build_volume(ALL, "ns"))
    assert tree["spec"] == {"source": {"upload": {}}, "contentType": "archive", "storage": STORAGE}
    assert tree["metadata"]["annotations"] == {**ANNOTATIONS, **BIND}


def test_data_source_refers_to_the_claim_and_has_its_labels() -> None:
    assert to_tree(build_source(ALL, "ns")) == {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataSource",
        "metadata": {"name": "fedora", "namespace": "ns", "labels": LABELS, "annotations": ANNOTATIONS},
        "spec": {"source": {"pvc": {"name": "fedora", "namespace": "ns"}}},
    }

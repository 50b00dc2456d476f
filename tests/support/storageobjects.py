"""Builders of claims, volumes and storage classes for tests of the storage controllers."""

from typing import Any

from virtshape.api.cdi import DataVolume
from virtshape.api.codec import from_tree
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.model import JsonObject
from virtshape.api.storage import StorageClass

CDI = "cdi.kubevirt.io/storage"
MARK = {f"{CDI}.upload.target": ""}

OURS = "virtshape.io/local"


def build_claim(
    name: str = "c1",
    *,
    uid: str = "u1",
    size: str | None = "1Gi",
    phase: str | None = "Pending",
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> PersistentVolumeClaim:
    """Build a ReadWriteOnce claim of class local by default."""
    asked: JsonObject = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local", **spec}
    if size is not None:
        asked["resources"] = {"requests": {"storage": size}}
    tree = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "uid": uid, "annotations": annotations},
        "spec": asked,
        "status": {"phase": phase} if phase else None,
    }
    return from_tree(tree, PersistentVolumeClaim)


def build_bound(name: str = "c1", **more: Any) -> PersistentVolumeClaim:
    """Build a claim that is bound to the volume `pv-<name>`."""
    marks = {"pv.kubernetes.io/bind-completed": "yes", **more.pop("annotations", {})}
    return build_claim(name, phase="Bound", volumeName=f"pv-{name}", annotations=marks, **more)


def build_volume(
    name: str = "pv-c1",
    *,
    size: str = "1Gi",
    phase: str = "Available",
    claim: str | None = None,
    uid: str | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> PersistentVolume:
    """Build an available volume of class local by default; `claim` reserves it."""
    reference = {"name": claim, "namespace": "default", "uid": uid} if claim else None
    tree = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size},
            "storageClassName": "local",
            "claimRef": reference,
            **spec,
        },
        "status": {"phase": phase},
    }
    return from_tree(tree, PersistentVolume)


def build_class(
    name: str = "local", *, default: bool = False, created: str | None = None, **fields: Any
) -> StorageClass:
    """Build a storage class of the local provisioner."""
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else None
    tree = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": annotations, "creationTimestamp": created},
        "provisioner": OURS,
        **fields,
    }
    return from_tree(tree, StorageClass)


def build_data_volume(
    *,
    metadata: JsonObject | None = None,
    status: JsonObject | None = None,
    storage: JsonObject | None = None,
    **spec: Any,
) -> DataVolume:
    """Build a DataVolume of 1Gi by default."""
    size = {"resources": {"requests": {"storage": "1Gi"}}}
    asked = spec if "pvc" in spec else {"storage": size if storage is None else storage, **spec}
    tree = {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {"name": "dv1", "namespace": "default", "uid": "d1", **(metadata or {})},
        "spec": asked,
        "status": status,
    }
    return from_tree(tree, DataVolume)


def build_target(**annotations: str) -> PersistentVolumeClaim:
    return build_bound(annotations={**MARK, **annotations})

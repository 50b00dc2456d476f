"""
Builders of API objects for tests; keyword arguments are API fields, and other fields are unset.

Nested fields are plain JSON; a matcher may be given as a name, or as `kind/name`.
"""

from typing import Any, Literal

from tests.support.objects import object_from_tree

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import from_tree
from virtshape.api.flavor import v1alpha1 as flavor
from virtshape.api.instancetype import v1beta2
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject

SourceKind = Literal["PersistentVolumeClaim", "DataVolume", "DataSource", "VolumeSnapshot"]

INSTANCETYPE_GROUP = "instancetype.kubevirt.io"
FLAVOR_API_VERSION = "flavor.kubevirt.io/v1alpha1"
OBJECT_NAME_LABEL = f"{INSTANCETYPE_GROUP}/object-name"

_SOURCES: dict[SourceKind, str] = {
    "PersistentVolumeClaim": "v1",
    "DataVolume": "cdi.kubevirt.io/v1beta1",
    "DataSource": "cdi.kubevirt.io/v1beta1",
    "VolumeSnapshot": "snapshot.storage.k8s.io/v1",
}


def build_vm(
    *,
    instancetype: str | JsonObject | None = None,
    preference: str | JsonObject | None = None,
    flavor: str | JsonObject | None = None,
    cpu_guest: int | None = None,
    memory: str | None = None,
    domain: JsonObject | None = None,
    template: JsonObject | None = None,
    annotations: dict[str, str] | None = None,
    name: str = "vm1",
    namespace: str | None = None,
    status: JsonObject | None = None,
    **spec: Any,
) -> VirtualMachine:
    """Build a VM; `cpu_guest` and `memory` override `domain`, and other keyword arguments are fields of its spec."""
    shaped: JsonObject = {"devices": {}, **(domain or {})}
    if cpu_guest is not None:
        shaped["cpu"] = {**shaped.get("cpu", {}), "guest": cpu_guest}
    if memory is not None:
        shaped["memory"] = {**shaped.get("memory", {}), "guest": memory}
    matchers = {"instancetype": instancetype, "preference": preference, "flavor": flavor}
    tree: JsonObject = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "runStrategy": "Always",
            **{role: _build_matcher(matcher) for role, matcher in matchers.items()},
            "template": {"spec": {"domain": shaped, **(template or {})}},
            **spec,
        },
        "status": status,
    }
    if annotations is not None:
        tree["spec"]["template"]["metadata"] = {"annotations": annotations}
    return from_tree(tree, VirtualMachine)


def _build_matcher(matcher: str | JsonObject | None) -> JsonObject | None:
    if not isinstance(matcher, str):
        return matcher
    kind, _, name = matcher.rpartition("/")
    return {"name": name, "kind": kind or None}


def build_spec(domain: JsonObject | None = None, **spec: Any) -> VirtualMachineInstanceSpec:
    """Build the spec of a VMI with this domain."""
    return from_tree({"domain": {"devices": {}, **(domain or {})}, **spec}, VirtualMachineInstanceSpec)


def build_instancetype_spec(**spec: Any) -> VirtualMachineInstancetypeSpec:
    """Build the spec of an instance type: 2 vCPUs and 2Gi by default; None omits a size."""
    return from_tree({"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}, **spec}, VirtualMachineInstancetypeSpec)


def build_preference_spec(**spec: Any) -> VirtualMachinePreferenceSpec:
    """Build the spec of a preference."""
    return from_tree(spec, VirtualMachinePreferenceSpec)


def build_instancetype(
    name: str = "small", *, namespace: str | None = None, version: str = "v1beta2", **spec: Any
) -> v1beta2.VirtualMachineInstancetype | v1beta2.VirtualMachineClusterInstancetype:
    """Build an instance type, cluster-scoped unless it has a namespace; `build_instancetype_spec` has the defaults."""
    struct = v1beta2.VirtualMachineInstancetype if namespace else v1beta2.VirtualMachineClusterInstancetype
    return struct(
        api_version=f"{INSTANCETYPE_GROUP}/{version}",
        kind=struct.__name__,
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=build_instancetype_spec(**spec),
    )


def build_preference(
    name: str = "linux", *, namespace: str | None = None, version: str = "v1beta2", **spec: Any
) -> v1beta2.VirtualMachinePreference | v1beta2.VirtualMachineClusterPreference:
    """Build a preference, cluster-scoped unless it has a namespace."""
    struct = v1beta2.VirtualMachinePreference if namespace else v1beta2.VirtualMachineClusterPreference
    return struct(
        api_version=f"{INSTANCETYPE_GROUP}/{version}",
        kind=struct.__name__,
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=build_preference_spec(**spec),
    )


def build_flavor(
    name: str = "tiny", *, namespace: str | None = None, **spec: Any
) -> flavor.VirtualMachineFlavor | flavor.VirtualMachineClusterFlavor:
    """Build a flavor, 2 vCPUs and 2Gi by default, cluster-scoped unless it has a namespace."""
    struct = flavor.VirtualMachineFlavor if namespace else flavor.VirtualMachineClusterFlavor
    sized = {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}, **spec}
    return struct(
        api_version=FLAVOR_API_VERSION,
        kind=struct.__name__,
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=from_tree(sized, flavor.VirtualMachineFlavorSpec),
    )


def build_flavor_preference(
    name: str = "linux", *, namespace: str | None = None, **spec: Any
) -> flavor.VirtualMachinePreference | flavor.VirtualMachineClusterPreference:
    """Build a preference of the flavor group, cluster-scoped unless it has a namespace."""
    struct = flavor.VirtualMachinePreference if namespace else flavor.VirtualMachineClusterPreference
    return struct(
        api_version=FLAVOR_API_VERSION,
        kind=struct.__name__,
        metadata=ObjectMeta(name=name, namespace=namespace),
        spec=from_tree(spec, flavor.VirtualMachinePreferenceSpec),
    )


def build_source(
    kind: SourceKind,
    name: str,
    *,
    namespace: str = "default",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> Any:
    """Build the source of a volume: a claim, DataVolume, DataSource or snapshot."""
    metadata = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
    if kind in ("DataSource", "VolumeSnapshot"):
        spec.setdefault("source", {})
    return object_from_tree({"apiVersion": _SOURCES[kind], "kind": kind, "metadata": metadata, "spec": spec})


def build_revision(
    name: str, data: Any, *, object_name: str | None = None, namespace: str = "default"
) -> ControllerRevision:
    """Build a ControllerRevision with this data, labelled with the name of the captured object."""
    labels = None if object_name is None else {OBJECT_NAME_LABEL: object_name}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    tree = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "data": data, "revision": 0}
    return from_tree(tree, ControllerRevision)

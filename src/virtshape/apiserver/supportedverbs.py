"""
Supported operations: the verbs, subresources and deprecated versions of each kind, and the subresource API.

Discovery, OpenAPI and routing share these tables.
"""

from typing import NamedTuple

from virtshape.api.kinds import KINDS, Kind, is_custom_resource

# Kubernetes lists the verbs of built-in kinds alphabetically, but not those of custom resources.
_ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_DEFINED_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_VERBS: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "Namespace"): ("create", "delete", "get", "list", "patch", "update", "watch"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): ("get", "list", "watch"),
}
_REVIEW_GROUPS = frozenset({"authentication.k8s.io", "authorization.k8s.io", "upload.cdi.kubevirt.io"})

_WITH_STATUS = frozenset(
    {
        ("", "Namespace"),
        ("", "Node"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("", "Pod"),
        ("", "ResourceQuota"),
        ("", "Service"),
        ("apps", "Deployment"),
        ("cdi.kubevirt.io", "CDIConfig"),
        ("cdi.kubevirt.io", "DataSource"),
        ("cdi.kubevirt.io", "DataVolume"),
        ("kubevirt.io", "KubeVirt"),
        ("kubevirt.io", "VirtualMachine"),
        ("snapshot.storage.k8s.io", "VolumeSnapshot"),
    }
)

_RETURNED = frozenset(
    {
        ("", "Namespace"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("", "Pod"),
        ("", "ResourceQuota"),
        ("", "Service"),
        ("", "ServiceAccount"),
        ("storage.k8s.io", "StorageClass"),
    }
)

_DEPRECATED = {
    ("kubevirt.io", "v1alpha3"),
    ("instancetype.kubevirt.io", "v1alpha1"),
    ("instancetype.kubevirt.io", "v1alpha2"),
}


class Subresource(NamedTuple):
    """A subresource: its name, the kind that it reads and writes, and its verbs."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


class Action(NamedTuple):
    """An action of the subresource API; discovery documents list no verbs for actions."""

    name: str
    namespaced: bool


ACTIONS = (
    Action("check-compatibility", namespaced=True),
    Action("check-fit", namespaced=True),
    Action("customize-instancetype", namespaced=True),
    Action("expand-vm-spec", namespaced=True),
    Action("explain-vm-spec", namespaced=True),
    Action("preview-import", namespaced=True),
    Action("preview-migrate-type", namespaced=True),
    Action("recommend-instancetypes", namespaced=True),
    Action("version", namespaced=False),
    Action("virtualmachineinstances/addvolume", namespaced=True),
    Action("virtualmachineinstances/console", namespaced=True),
    Action("virtualmachineinstances/consolelog", namespaced=True),
    Action("virtualmachineinstances/filesystemlist", namespaced=True),
    Action("virtualmachineinstances/guestosinfo", namespaced=True),
    Action("virtualmachineinstances/pause", namespaced=True),
    Action("virtualmachineinstances/portforward", namespaced=True),
    Action("virtualmachineinstances/removevolume", namespaced=True),
    Action("virtualmachineinstances/reset", namespaced=True),
    Action("virtualmachineinstances/softreboot", namespaced=True),
    Action("virtualmachineinstances/unpause", namespaced=True),
    Action("virtualmachineinstances/userlist", namespaced=True),
    Action("virtualmachineinstances/vnc", namespaced=True),
    Action("virtualmachines/addvolume", namespaced=True),
    Action("virtualmachines/expand-spec", namespaced=True),
    Action("virtualmachines/portforward", namespaced=True),
    Action("virtualmachines/removevolume", namespaced=True),
    Action("virtualmachines/restart", namespaced=True),
    Action("virtualmachines/start", namespaced=True),
    Action("virtualmachines/stop", namespaced=True),
)
"""All actions of the group `subresources.kubevirt.io`."""

ACTION_GROUP = "subresources.kubevirt.io"
ACTION_VERSIONS = ("v1", "v1alpha3")


def is_create_only(kind: Kind) -> bool:
    """Return True if objects of the kind can only be created and are never stored, such as reviews."""
    return kind.group in _REVIEW_GROUPS


def list_verbs(kind: Kind) -> tuple[str, ...]:
    """Return the verbs that clients can use on the kind, in the order in which Kubernetes lists them."""
    if is_create_only(kind):
        return ("create",)
    return _VERBS.get((kind.group, kind.kind), _DEFINED_VERBS if is_custom_resource(kind) else _ALL_VERBS)


def list_subresources(kind: Kind) -> tuple[Subresource, ...]:
    """Return the subresources of the kind."""
    subresources = []
    if kind.group == "" and kind.kind == "Namespace":
        subresources.append(Subresource("finalize", "", "v1", "Namespace", ("update",)))
    if (kind.group, kind.kind) in _WITH_STATUS:
        verbs = ("get", "patch", "update")
        subresources.append(Subresource("status", kind.group, kind.version, kind.kind, verbs))
    if kind.group == "" and kind.kind == "ServiceAccount":
        subresources.append(Subresource("token", "authentication.k8s.io", "v1", "TokenRequest", ("create",)))
    return tuple(subresources)


def returns_deleted(kind: Kind) -> bool:
    """Return True if a delete request returns the deleted object instead of a Status."""
    return (kind.group, kind.kind) in _RETURNED


def find_deprecation(kind: Kind) -> str | None:
    """Return the deprecation warning for this version of the kind, or None."""
    if (kind.group, kind.version) not in _DEPRECATED:
        return None
    better = next(other for other in KINDS if (other.group, other.kind) == (kind.group, kind.kind))
    return f"{kind.api_version} {kind.kind} is deprecated; use {better.api_version} {kind.kind}"

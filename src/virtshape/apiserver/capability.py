"""
What can be done with objects of each kind: verbs, subresources, and whether Kubernetes would know them by a CRD.

One table for discovery, OpenAPI and routing. Nothing here does any of it.
"""

from typing import NamedTuple

from virtshape.api.kinds import KINDS, Kind

_DEFINED_GROUPS = frozenset(
    {
        "cdi.kubevirt.io",
        "flavor.kubevirt.io",
        "instancetype.kubevirt.io",
        "kubevirt.io",
        "snapshot.storage.k8s.io",
    }
)

# Kubernetes lists the verbs of its own kinds in alphabetical order, those of defined kinds in this one.
_ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_DEFINED_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_VERBS: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "Namespace"): ("create", "delete", "get", "list", "patch", "update", "watch"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): ("get", "list", "watch"),
}
_QUESTION_GROUPS = frozenset({"authentication.k8s.io", "authorization.k8s.io", "upload.cdi.kubevirt.io"})

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
    """Something below an object: its name, the kind it is read and written as, and what can be done with it."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


class Action(NamedTuple):
    """Something that KubeVirt's subresource API does; discovery lists no verbs for these."""

    name: str
    namespaced: bool


ACTIONS = (
    Action("expand-vm-spec", namespaced=True),
    Action("version", namespaced=False),
    Action("virtualmachineinstances/console", namespaced=True),
    Action("virtualmachineinstances/consolelog", namespaced=True),
    Action("virtualmachineinstances/filesystemlist", namespaced=True),
    Action("virtualmachineinstances/guestosinfo", namespaced=True),
    Action("virtualmachineinstances/pause", namespaced=True),
    Action("virtualmachineinstances/portforward", namespaced=True),
    Action("virtualmachineinstances/reset", namespaced=True),
    Action("virtualmachineinstances/softreboot", namespaced=True),
    Action("virtualmachineinstances/unpause", namespaced=True),
    Action("virtualmachineinstances/userlist", namespaced=True),
    Action("virtualmachineinstances/vnc", namespaced=True),
    Action("virtualmachines/expand-spec", namespaced=True),
    Action("virtualmachines/portforward", namespaced=True),
    Action("virtualmachines/restart", namespaced=True),
    Action("virtualmachines/start", namespaced=True),
    Action("virtualmachines/stop", namespaced=True),
)
"""All of the group `subresources.kubevirt.io`."""

ACTION_GROUP = "subresources.kubevirt.io"
ACTION_VERSIONS = ("v1", "v1alpha3")


def is_defined(kind: Kind) -> bool:
    """Whether the kind is a custom resource, defined by a CustomResourceDefinition."""
    return kind.group in _DEFINED_GROUPS


def is_create_only(kind: Kind) -> bool:
    """Whether objects of the kind are only answered, never stored."""
    return kind.group in _QUESTION_GROUPS


def list_verbs(kind: Kind) -> tuple[str, ...]:
    """The verbs that clients can use on the kind, in the order that Kubernetes lists them."""
    if is_create_only(kind):
        return ("create",)
    return _VERBS.get((kind.group, kind.kind), _DEFINED_VERBS if is_defined(kind) else _ALL_VERBS)


def list_subresources(kind: Kind) -> tuple[Subresource, ...]:
    """What there is below objects of the kind."""
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
    """Whether whoever deletes an object of the kind is shown it once more."""
    return (kind.group, kind.kind) in _RETURNED


def find_deprecation(kind: Kind) -> str | None:
    """The warning for clients that use this version of a kind, if there is a better one."""
    if (kind.group, kind.version) not in _DEPRECATED:
        return None
    better = next(other for other in KINDS if (other.group, other.kind) == (kind.group, kind.kind))
    return f"{kind.api_version} {kind.kind} is deprecated; use {better.api_version} {kind.kind}"

"""
How server-side apply takes apart the kinds that Kubernetes brings along, as far as their structs do not say.

Facts only, by struct and field as on the wire; none of them holds where a custom kind uses the same struct.
"""

from typing import Final

BUILT_IN_GROUPS: Final = frozenset(
    {
        "",
        "apiextensions.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "coordination.k8s.io",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
    }
)
"""The groups whose kinds are not custom."""

_CONTAINER_LISTS: Final = {
    "env": ("name",),
    "ports": ("containerPort", "protocol"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
}

MERGED_LISTS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "Container": _CONTAINER_LISTS,
    "CustomResourceDefinitionStatus": {"conditions": ("type",)},
    "DeploymentStatus": {"conditions": ("type",)},
    "EphemeralContainer": _CONTAINER_LISTS,
    "NamespaceStatus": {"conditions": ("type",)},
    "NodeSpec": {"podCIDRs": ()},
    "NodeStatus": {"addresses": ("type",), "conditions": ("type",)},
    "PersistentVolumeClaimStatus": {"conditions": ("type",)},
    "PodSpec": {
        "containers": ("name",),
        "ephemeralContainers": ("name",),
        "hostAliases": ("ip",),
        "imagePullSecrets": ("name",),
        "initContainers": ("name",),
        "resourceClaims": ("name",),
        "schedulingGates": ("name",),
        "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
        "volumes": ("name",),
    },
    "PodStatus": {"conditions": ("type",), "podIPs": ("ip",), "resourceClaimStatuses": ("name",)},
    "ResourceRequirements": {"claims": ("name",)},
    "ServiceAccount": {"secrets": ("name",)},
    "ServiceSpec": {"ports": ("port", "protocol")},
    "ServiceStatus": {"conditions": ("type",)},
}
"""Lists merged by these keys of their items, or by the items themselves where there are none."""

DEFAULT_KEYS: Final = {"protocol": "TCP"}
"""What an item is known by that leaves out this key."""

ATOMIC_STRUCTS: Final = frozenset(
    {
        "ConfigMapKeySelector",
        "ObjectReference",
        "RoleRef",
        "SecretKeySelector",
        "SecretReference",
        "Subject",
        "TopologySelectorTerm",
    }
)
"""Structs that belong to one manager as a whole."""

ATOMIC_FIELDS: Final = frozenset(
    {("ControllerRevision", "data"), ("PodSpec", "nodeSelector"), ("ServiceSpec", "selector")}
)
"""Maps that belong to one manager as a whole."""

GRANULAR_FIELDS: Final = frozenset({("PersistentVolumeSpec", "claimRef")})
"""Fields that are taken apart although their struct is not, elsewhere."""

STANDING_FIELDS: Final[dict[str, frozenset[str]]] = {
    "Container": frozenset({"resources"}),
    "CustomResourceDefinitionSpec": frozenset({"names"}),
    "DeploymentSpec": frozenset({"strategy", "template"}),
    "EphemeralContainer": frozenset({"resources"}),
    "Event": frozenset(
        {"eventTime", "involvedObject", "reportingComponent", "reportingInstance", "source"},
    ),
    "NodeDaemonEndpoints": frozenset({"kubeletEndpoint"}),
    "NodeStatus": frozenset({"daemonEndpoints", "nodeInfo"}),
    "PersistentVolumeClaimSpec": frozenset({"resources"}),
    "PodSpec": frozenset({"containers"}),
    "PodTemplateSpec": frozenset({"metadata", "spec"}),
    "ServiceStatus": frozenset({"loadBalancer"}),
}
"""Fields that are there even when nobody gave them, so that nobody owns that they exist."""

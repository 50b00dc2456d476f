"""
List and map types of built-in kinds for server-side apply, where structs do not define them.

The tables are indexed by struct and JSON field. The tables do not apply to custom resources with the same structs.
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
"""The groups of the built-in kinds."""

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
"""Lists whose items are merged by these keys, or by value if there are no keys."""

DEFAULT_KEYS: Final = {"protocol": "TCP"}
"""Default values of item keys."""

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
"""Structs whose values are atomic."""

ATOMIC_FIELDS: Final = frozenset(
    {("ControllerRevision", "data"), ("PodSpec", "nodeSelector"), ("ServiceSpec", "selector")}
)
"""Fields whose values are atomic, although their types are not."""

GRANULAR_FIELDS: Final = frozenset({("PersistentVolumeSpec", "claimRef")})
"""Fields that are granular although their struct is atomic elsewhere."""

ALWAYS_PRESENT_FIELDS: Final[dict[str, frozenset[str]]] = {
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
"""Fields that always count as present, so a manager can own fields below them but not the fields themselves."""

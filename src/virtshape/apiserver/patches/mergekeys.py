"""
Patch strategies for strategic merge patches of built-in kinds, by struct and JSON field.

OpenAPI documents publish these strategies, so that clients can build matching patches.
"""

from typing import Final, NamedTuple


class Strategy(NamedTuple):
    """How a field is patched; `key` is the field that identifies list items, or empty for lists of plain values."""

    name: str
    key: str = ""

    @property
    def merges(self) -> bool:
        """Return True if a list is merged instead of replaced."""
        return self.name.startswith("merge")


_MERGE: Final = Strategy("merge")
_BY_NAME: Final = Strategy("merge", "name")
_BY_TYPE: Final = Strategy("merge", "type")
_CONTAINER_FIELDS: Final = {
    "env": _BY_NAME,
    "ports": Strategy("merge", "containerPort"),
    "volumeDevices": Strategy("merge", "devicePath"),
    "volumeMounts": Strategy("merge", "mountPath"),
}

STRATEGIES: Final[dict[str, dict[str, Strategy]]] = {
    "Container": _CONTAINER_FIELDS,
    "DeploymentSpec": {"strategy": Strategy("retainKeys")},
    "DeploymentStatus": {"conditions": _BY_TYPE},
    "EphemeralContainer": _CONTAINER_FIELDS,
    "NamespaceStatus": {"conditions": _BY_TYPE},
    "NodeSpec": {"podCIDRs": _MERGE},
    "NodeStatus": {"addresses": _BY_TYPE, "conditions": _BY_TYPE},
    "ObjectMeta": {"finalizers": _MERGE, "ownerReferences": Strategy("merge", "uid")},
    "PersistentVolumeClaimStatus": {"conditions": _BY_TYPE},
    "PodSpec": {
        "containers": _BY_NAME,
        "ephemeralContainers": _BY_NAME,
        "hostAliases": Strategy("merge", "ip"),
        "imagePullSecrets": _BY_NAME,
        "initContainers": _BY_NAME,
        "resourceClaims": Strategy("merge,retainKeys", "name"),
        "schedulingGates": _BY_NAME,
        "topologySpreadConstraints": Strategy("merge", "topologyKey"),
        "volumes": Strategy("merge,retainKeys", "name"),
    },
    "PodStatus": {
        "conditions": _BY_TYPE,
        "hostIPs": Strategy("merge", "ip"),
        "podIPs": Strategy("merge", "ip"),
        "resourceClaimStatuses": Strategy("merge,retainKeys", "name"),
    },
    "ServiceAccount": {"secrets": _BY_NAME},
    "ServiceSpec": {"ports": Strategy("merge", "port")},
    "ServiceStatus": {"conditions": _BY_TYPE},
}

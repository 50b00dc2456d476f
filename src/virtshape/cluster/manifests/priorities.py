"""
FlowSchemas that give our requests priority on a busy API server: lease renewals first, then all other requests.

Writes to VMs occupy the API server's queues while they wait for our webhook. The webhook's own requests must not queue
behind these writes. The schemas use existing priority levels, so the shares of other clients do not change.
"""

from collections.abc import Sequence
from typing import Final

from virtshape.api.model import JsonObject
from virtshape.cluster.manifests.naming import REQUIRED, SYSTEM, Component, begin, name_component
from virtshape.cluster.manifests.options import Options

_VERSION: Final = "flowcontrol.apiserver.k8s.io/v1"
_LEASES: Final = 200
"""Precedence of Kubernetes' own schema for leader election."""
_REST: Final = 950
"""Precedence of our schema for other requests, which is matched before the schema for all service accounts."""


def build_priorities(options: Options) -> list[JsonObject]:
    """Return the FlowSchemas."""
    leases = {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "namespaces": [options.namespace],
        "verbs": ["get", "create", "update", "patch"],
    }
    everything = {
        "apiGroups": ["*"],
        "resources": ["*"],
        "namespaces": ["*"],
        "clusterScope": True,
        "verbs": ["*"],
    }
    return [
        _build_schema(f"{SYSTEM}-leases", "leader-election", _LEASES, ["controller"], leases, options.namespace),
        _build_schema(SYSTEM, "workload-high", _REST, REQUIRED, everything, options.namespace),
    ]


def _build_schema(
    name: str, level: str, precedence: int, components: Sequence[Component], rule: JsonObject, namespace: str
) -> JsonObject:
    accounts = [{"name": name_component(component), "namespace": namespace} for component in components]
    subjects = [{"kind": "ServiceAccount", "serviceAccount": account} for account in accounts]
    spec = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [{"subjects": subjects, "resourceRules": [rule]}],
    }
    return {**begin(_VERSION, "FlowSchema", name), "spec": spec}

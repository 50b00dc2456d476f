"""
Whom the API server serves first when it has too much to do: signs of life of whoever leads, then our components.

Writes of VMs hold their places in its queues while they wait for our webhook; what the webhook itself asks must not
stand behind them. The levels are the server's own, so that nobody is left with less.
"""

from collections.abc import Sequence
from typing import Any, Final

from virtshape.cluster.manifests.naming import COMPONENTS, SYSTEM, Component, Tree, begin, name_component
from virtshape.cluster.manifests.options import Options

_VERSION: Final = "flowcontrol.apiserver.k8s.io/v1"
_LEASES: Final = 200
"""Before the server's own schemas for accounts, beside the one for leases of its own controllers."""
_REST: Final = 950
"""Before the schema for all accounts, which would have them wait with everybody's."""


def build_priorities(options: Options) -> list[Tree]:
    """The schemas by which the API server knows our requests."""
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
        _build_schema(SYSTEM, "workload-high", _REST, COMPONENTS, everything, options.namespace),
    ]


def _build_schema(
    name: str, level: str, precedence: int, components: Sequence[Component], rule: dict[str, Any], namespace: str
) -> Tree:
    accounts = [{"name": name_component(component), "namespace": namespace} for component in components]
    subjects = [{"kind": "ServiceAccount", "serviceAccount": account} for account in accounts]
    spec = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [{"subjects": subjects, "resourceRules": [rule]}],
    }
    return {**begin(_VERSION, "FlowSchema", name), "spec": spec}

"""
All objects of an installation, in the order in which to apply them.

CRDs come before their objects, permissions before the pods that need them, and webhook configurations last, when the
pods that serve the webhooks exist.
"""

from typing import Final

from virtshape import catalog
from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject
from virtshape.api.wellknown import KUBEVIRT
from virtshape.cluster.manifests.certificates import build_certificates
from virtshape.cluster.manifests.crds import build_definitions
from virtshape.cluster.manifests.deployments import build_deployments
from virtshape.cluster.manifests.naming import SYSTEM, begin
from virtshape.cluster.manifests.network import (
    build_api_services,
    build_monitors,
    build_network_policies,
    build_services,
)
from virtshape.cluster.manifests.options import Options
from virtshape.cluster.manifests.policies import build_admission_policies
from virtshape.cluster.manifests.priorities import build_priorities
from virtshape.cluster.manifests.rbac import (
    RBAC_GROUP,
    RBAC_VERSION,
    build_component_roles,
    build_user_roles,
    list_read_rules,
)
from virtshape.cluster.manifests.webhooks import build_webhooks

TOOLS: Final = f"{SYSTEM}-tools"


def build_parts(options: Options) -> dict[str, list[JsonObject]]:
    """Return the objects of each part by its name; parts and objects are in the order in which to apply them."""
    if options.with_kubevirt:
        return {
            "namespaces": build_namespaces(options),
            "tools": build_tools(options),
            "catalog": build_catalog(options),
        }
    return {
        "namespaces": build_namespaces(options),
        "crds": build_definitions(options),
        "admissionpolicies": build_admission_policies(options),
        "rbac": [*build_user_roles(options), *build_component_roles(options)],
        "priorities": build_priorities(options),
        "certificates": build_certificates(options),
        "network": [*build_services(options), *build_network_policies(options)],
        "deployments": build_deployments(options),
        "monitoring": build_monitors(options),
        "apiservices": build_api_services(options),
        "webhooks": build_webhooks(options),
    }


def build_manifests(options: Options) -> list[JsonObject]:
    """Return all objects in the order in which to apply them."""
    return [tree for part in build_parts(options).values() for tree in part]


def build_namespaces(options: Options) -> list[JsonObject]:
    """Return the namespaces of the installation, with the restricted security standard, and of the configuration."""
    modes = ("enforce", "audit", "warn")
    strict = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in modes}
    own = begin("v1", "Namespace", options.namespace, labels=strict)
    if options.with_kubevirt or options.namespace == KUBEVIRT:
        return [own]
    return [own, begin("v1", "Namespace", KUBEVIRT)]


def build_tools(options: Options) -> list[JsonObject]:
    """Return the service account of the tools, its role and its binding."""
    return [
        begin("v1", "ServiceAccount", TOOLS, options.namespace),
        {**begin(RBAC_VERSION, "ClusterRole", TOOLS), "rules": list_read_rules()},
        {
            **begin(RBAC_VERSION, "ClusterRoleBinding", TOOLS),
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": TOOLS},
            "subjects": [{"kind": "ServiceAccount", "name": TOOLS, "namespace": options.namespace}],
        },
    ]


def build_catalog(options: Options) -> list[JsonObject]:
    """Return the built-in instance types and preferences if requested, in the version that KubeVirt serves."""
    return [to_tree(item) for item in catalog.load(version="v1beta1")] if options.catalog else []

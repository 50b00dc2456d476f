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
from virtshape.cluster.manifests.certificates import build_authority, build_certificates
from virtshape.cluster.manifests.crds import build_definitions
from virtshape.cluster.manifests.deployments import build_deployments, build_priority_class
from virtshape.cluster.manifests.naming import REQUIRED, SYSTEM, Component, begin
from virtshape.cluster.manifests.network import (
    build_api_services,
    build_metrics_service,
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
    build_delegation,
    build_user_roles,
    list_read_rules,
)
from virtshape.cluster.manifests.webhooks import build_webhooks

TOOLS: Final = f"{SYSTEM}-tools"


def build_parts(options: Options) -> dict[str, list[JsonObject]]:
    """Return the objects in named groups; groups and objects are in the order in which to apply them."""
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
        "rbac": [
            *build_user_roles(options),
            *build_component_roles(REQUIRED, options),
            *build_delegation(options),
        ],
        "priorities": build_priorities(options),
        "certificates": [*build_authority(options), *build_certificates(REQUIRED, options)],
        "network": [
            *build_services(REQUIRED, options),
            build_metrics_service(options),
            *build_network_policies(REQUIRED, options),
        ],
        "deployments": [build_priority_class(), *build_deployments(REQUIRED, options)],
        "console": build_console(options),
        "monitoring": build_monitors(options),
        "apiservices": build_api_services(options),
        "webhooks": build_webhooks(options),
    }


def build_manifests(options: Options) -> list[JsonObject]:
    """Return all objects in the order in which to apply them."""
    return [tree for part in build_parts(options).values() for tree in part]


def build_namespaces(options: Options) -> list[JsonObject]:
    """Return the installation's namespace (with the restricted pod security standard) and, if needed, `kubevirt`."""
    modes = ("enforce", "audit", "warn")
    strict = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in modes}
    own = begin("v1", "Namespace", options.namespace, labels=strict)
    if options.with_kubevirt or options.namespace == KUBEVIRT:
        return [own]
    return [own, begin("v1", "Namespace", KUBEVIRT)]


def build_console(options: Options) -> list[JsonObject]:
    """Return all objects of the web console, if it is part of the installation."""
    console: tuple[Component, ...] = ("console",) if options.console else ()
    return [
        *build_component_roles(console, options),
        *build_certificates(console, options),
        *build_services(console, options),
        *build_network_policies(console, options),
        *build_deployments(console, options),
    ]


def build_tools(options: Options) -> list[JsonObject]:
    """Return a service account, a role and a binding that allow reading everything that virtshape's tools need."""
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

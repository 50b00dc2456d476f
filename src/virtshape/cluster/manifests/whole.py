"""
An installation as a whole: all its objects, in the order to apply them in.

Kinds come before what is of them, rights before what needs them, and admission last, when there are pods to ask.
"""

from virtshape.cluster.manifests.catalog import build_catalog
from virtshape.cluster.manifests.certificates import build_certificates
from virtshape.cluster.manifests.crds import build_definitions
from virtshape.cluster.manifests.deployments import build_deployments
from virtshape.cluster.manifests.guards import build_guards
from virtshape.cluster.manifests.namespaces import build_namespaces
from virtshape.cluster.manifests.naming import Tree
from virtshape.cluster.manifests.network import build_api_services, build_monitors, build_policies, build_services
from virtshape.cluster.manifests.options import Options
from virtshape.cluster.manifests.priorities import build_priorities
from virtshape.cluster.manifests.rbac import build_rights
from virtshape.cluster.manifests.tools import build_tools
from virtshape.cluster.manifests.userroles import build_user_roles
from virtshape.cluster.manifests.webhooks import build_webhooks


def build_parts(options: Options) -> dict[str, list[Tree]]:
    """The objects of each part, by its name; the parts and the objects in each are in order."""
    if options.with_kubevirt:
        return {
            "namespaces": build_namespaces(options),
            "tools": build_tools(options),
            "catalog": build_catalog(options),
        }
    return {
        "namespaces": build_namespaces(options),
        "crds": build_definitions(options),
        "guards": build_guards(options),
        "rbac": [*build_user_roles(options), *build_rights(options)],
        "priorities": build_priorities(options),
        "certificates": build_certificates(options),
        "network": [*build_services(options), *build_policies(options)],
        "deployments": build_deployments(options),
        "monitoring": build_monitors(options),
        "apiservices": build_api_services(options),
        "webhooks": build_webhooks(options),
    }


def build_manifests(options: Options) -> list[Tree]:
    """All objects, in the order to apply them in."""
    return [tree for part in build_parts(options).values() for tree in part]

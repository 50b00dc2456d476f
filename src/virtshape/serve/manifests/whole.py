"""
An installation as a whole: all its objects, in the order to apply them in.

Kinds come before what is of them, rights before what needs them, and admission last, when there are pods to ask.
"""

from virtshape.serve.manifests.catalog import build_catalog
from virtshape.serve.manifests.certificates import build_certificates
from virtshape.serve.manifests.crds import build_definitions
from virtshape.serve.manifests.deployments import build_deployments
from virtshape.serve.manifests.guards import build_guards
from virtshape.serve.manifests.namespaces import build_namespaces
from virtshape.serve.manifests.naming import Tree
from virtshape.serve.manifests.network import build_api_services, build_monitors, build_policies, build_services
from virtshape.serve.manifests.options import Options
from virtshape.serve.manifests.priorities import build_priorities
from virtshape.serve.manifests.rbac import build_rights
from virtshape.serve.manifests.tools import build_tools
from virtshape.serve.manifests.userroles import build_user_roles
from virtshape.serve.manifests.webhooks import build_webhooks


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

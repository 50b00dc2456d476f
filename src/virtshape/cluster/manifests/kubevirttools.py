"""
Objects to install alongside a stock KubeVirt: a read-only account for our tools, and the catalog.

KubeVirt itself provides the CRDs, admission and the virtual machine runtime. In a full installation, the
controller creates the catalog instead, because it never overwrites objects that an administrator has changed.
"""

from typing import Final

from virtshape import catalog
from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject
from virtshape.cluster.manifests.naming import SYSTEM, begin
from virtshape.cluster.manifests.options import Options
from virtshape.cluster.manifests.rbac import RBAC_GROUP, RBAC_VERSION, list_read_rules

NAME: Final = f"{SYSTEM}-tools"


def build_tools(options: Options) -> list[JsonObject]:
    """Return the service account, its role and its binding."""
    return [
        begin("v1", "ServiceAccount", NAME, options.namespace),
        {**begin(RBAC_VERSION, "ClusterRole", NAME), "rules": list_read_rules()},
        {
            **begin(RBAC_VERSION, "ClusterRoleBinding", NAME),
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": options.namespace}],
        },
    ]


def build_catalog(options: Options) -> list[JsonObject]:
    """Return the built-in instance types and preferences if requested, in the version that KubeVirt serves."""
    return [to_tree(item) for item in catalog.load(version="v1beta1")] if options.catalog else []

"""
What goes beside a stock KubeVirt: an account that may read what our tools look at, and change nothing.

KubeVirt brings the kinds, their admission and what runs guests; none of that is here.
"""

from typing import Final

from virtshape.cluster.manifests.naming import SYSTEM, Tree, begin
from virtshape.cluster.manifests.options import Options
from virtshape.cluster.manifests.rbac import RBAC_GROUP, RBAC_VERSION, list_reading

NAME: Final = f"{SYSTEM}-tools"


def build_tools(options: Options) -> list[Tree]:
    """The account, its role and the binding."""
    return [
        begin("v1", "ServiceAccount", NAME, options.namespace),
        {**begin(RBAC_VERSION, "ClusterRole", NAME), "rules": list_reading()},
        {
            **begin(RBAC_VERSION, "ClusterRoleBinding", NAME),
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": options.namespace}],
        },
    ]

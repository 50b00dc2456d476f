"""
The built-in instance types and preferences beside a stock KubeVirt, at a version that it knows.

In an installation of our own the controller adds them, since it never overwrites what an administrator has changed.
"""

from virtshape import catalog
from virtshape.api.codec import to_tree
from virtshape.cluster.manifests.naming import Tree
from virtshape.cluster.manifests.options import Options


def build_catalog(options: Options) -> list[Tree]:
    """All objects, if asked for; custom sizes are left out, as KubeVirt has none."""
    return [to_tree(item) for item in catalog.load(version="v1beta1")] if options.catalog else []

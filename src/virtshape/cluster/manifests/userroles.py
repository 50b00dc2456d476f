"""
Roles for people: what `view`, `edit` and `admin` of a cluster may do with VMs, and what everybody may.

The same as in a system of one machine, without the roles that every cluster has.
"""

from typing import Final

from virtshape.api.codec import to_tree
from virtshape.apiserver.auth.builtinroles import build_bindings, build_roles
from virtshape.cluster.manifests.naming import Tree, label
from virtshape.cluster.manifests.options import Options

_OURS: Final = ("kubevirt.io:", "instancetype.kubevirt.io:")
_DISKS: Final = "cdi.kubevirt.io:"
_BOOTSTRAP: Final = "kubernetes.io/bootstrapping"


def build_user_roles(options: Options) -> list[Tree]:
    """Roles, each part of one of the cluster's own, and the bindings for everybody."""
    prefixes = (*_OURS, _DISKS) if options.cdi else _OURS
    trees = [to_tree(item) for item in (*build_roles(), *build_bindings())]
    return [_adopt(tree) for tree in trees if tree["metadata"]["name"].startswith(prefixes)]


def _adopt(tree: Tree) -> Tree:
    """The role without the marks of what a server brings by itself."""
    metadata = tree["metadata"]
    labels = {key: value for key, value in metadata["labels"].items() if key != _BOOTSTRAP}
    return tree | {"metadata": {"name": metadata["name"], "labels": label() | labels}}

"""The namespaces of an installation: its own, and the one that its configuration is kept in."""

from virtshape.cluster.manifests.naming import CONFIGURATION, Tree, begin
from virtshape.cluster.manifests.options import Options


def build_namespaces(options: Options) -> list[Tree]:
    """Both namespaces; no pod that asks for more than the strictest rules allow may run in our own."""
    modes = ("enforce", "audit", "warn")
    strict = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in modes}
    own = begin("v1", "Namespace", options.namespace, labels=strict)
    if options.with_kubevirt or options.namespace == CONFIGURATION:
        return [own]
    return [own, begin("v1", "Namespace", CONFIGURATION)]

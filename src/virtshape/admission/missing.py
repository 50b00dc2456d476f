"""Messages for missing objects that a VM refers to: similar names, and objects of other kinds with the same name."""

from virtshape.admission.clusterstate import Finder
from virtshape.engine.nearest import Candidate
from virtshape.resolve.find import instancetype_spec
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP, KINDS, Role
from virtshape.resolve.reference import NotFoundError, Reference
from virtshape.resolve.search import Search


def describe_missing(reference: Reference, finder: Finder) -> str:
    """Return a message that an object does not exist, with similar names."""
    names = finder.list_names(reference.group, reference.kind, reference.namespace)
    return NotFoundError(reference, "").suggest(list(names)).message


def search_explanation(reference: Reference, role: Role, namespace: str, finder: Finder, advice: str) -> Search[str]:
    """
    Return a message that an object does not exist, with another object of that name, a similar name, or the advice.

    The finder is used only for similar names.
    """
    message = describe_missing(reference, finder)
    kinds = KINDS[role]
    other = kinds.namespaced if reference.kind == kinds.cluster else kinds.cluster
    elsewhere = Reference(reference.group, other, namespace if other == kinds.namespaced else "", reference.name)
    if (yield elsewhere) is not None:
        return f"{message}; there is a {other} of this name: set spec.{role}.kind to it"
    if role == "preference" and reference.group == FLAVOR_GROUP:
        newer = Reference(INSTANCETYPE_GROUP, reference.kind, reference.namespace, reference.name)
        if (yield newer) is not None:
            reason = f"the preference in {INSTANCETYPE_GROUP} cannot be used with spec.flavor: use spec.instancetype"
            return f"{message}; {reason}"
    return message if message.endswith("?") else f"{message}: {advice}"


def list_candidates(group: str, namespace: str, finder: Finder) -> tuple[Candidate, ...]:
    """Return all instance types, or flavors, that a VM in the namespace can use."""
    kinds = KINDS["flavor" if group == FLAVOR_GROUP else "instancetype"]
    candidates = []
    for kind, where in ((kinds.cluster, ""), (kinds.namespaced, namespace)):
        for name in finder.list_names(group, kind, where):
            spec = instancetype_spec(finder.find(Reference(group, kind, where, name)))
            if spec is not None:
                candidates.append(Candidate(f"{name} ({kind})" if where else name, spec))
    return tuple(candidates)

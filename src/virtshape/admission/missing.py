"""Messages for missing objects that a VM refers to: similar names, and objects of other kinds with the same name."""

from typing import Any

from virtshape.admission.clusterstate import Finder
from virtshape.engine.lifecycle import read_lifecycle
from virtshape.engine.suggestions import Candidate
from virtshape.resolve.find import instancetype_spec
from virtshape.resolve.matcher import FLAVOR_GROUP, INSTANCETYPE_GROUP, KINDS, Role
from virtshape.resolve.reference import NotFoundError, Reference
from virtshape.resolve.search import Search


def describe_missing(reference: Reference, finder: Finder) -> str:
    """Return the message for an object that does not exist, with similar names as suggestions."""
    names = finder.list_names(reference.group, reference.kind, reference.namespace)
    return NotFoundError(reference, "").suggest(list(names)).message


def search_explanation(reference: Reference, role: Role, namespace: str, finder: Finder, advice: str) -> Search[str]:
    """
    Return a search for the message about a missing object, which suggests another kind or name, or else `advice`.

    `finder` lists the similar names; the search looks for objects of another kind with the same name.
    """
    message = describe_missing(reference, finder)
    kinds = KINDS[role]
    other = kinds.namespaced if reference.kind == kinds.cluster else kinds.cluster
    elsewhere = Reference(reference.group, other, namespace if other == kinds.namespaced else "", reference.name)
    if (yield elsewhere) is not None:
        return f"{message}; there is a {other} of this name: to use it, set spec.{role}.kind to {other}"
    if role == "preference" and reference.group == FLAVOR_GROUP:
        newer = Reference(INSTANCETYPE_GROUP, reference.kind, reference.namespace, reference.name)
        if (yield newer) is not None:
            reason = f"the preference in {INSTANCETYPE_GROUP} cannot be used with spec.flavor: use spec.instancetype"
            return f"{message}; {reason}"
    return message if message.endswith("?") else f"{message}: {advice}"


def list_candidates(group: str, namespace: str, finder: Finder) -> tuple[Candidate, ...]:
    """Return the active instance types (or flavors, depending on the group) that a VM in the namespace can use."""
    kinds = KINDS["flavor" if group == FLAVOR_GROUP else "instancetype"]
    candidates = []
    for kind, where in ((kinds.cluster, ""), (kinds.namespaced, namespace)):
        for name in finder.list_names(group, kind, where):
            found: Any = finder.find(Reference(group, kind, where, name))
            spec = instancetype_spec(found)
            if spec is not None and read_lifecycle(found.metadata).state == "active":
                candidates.append(Candidate(f"{name} ({kind})" if where else name, spec))
    return tuple(candidates)

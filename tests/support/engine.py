"""
Call the engine with plain JSON: apply an instance type and a preference to a domain.

An instance type has 2 vCPUs and 2Gi by default, as in `build_instancetype_spec`.
"""

from typing import Any, NamedTuple

from tests.support.build import build_instancetype_spec, build_preference_spec, build_spec

from virtshape.api.codec import to_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.engine.apply import TEMPLATE_ROOT, apply
from virtshape.engine.draft import Draft
from virtshape.engine.topology import Layout

WITHOUT_SIZE: JsonObject = {"cpu": None, "memory": None}
SIZED: JsonObject = {"cpu": {"sockets": 2, "cores": 1, "threads": 1}, "memory": {"guest": "2Gi"}}


class ApplyResult(NamedTuple):
    """A VMI after applying an instance type and a preference, and the conflicts."""

    spec: JsonObject
    metadata: JsonObject
    conflicts: list[FieldError]


def apply_trees(
    domain: JsonObject | None = None,
    instancetype: JsonObject | None = None,
    preference: JsonObject | None = None,
    *,
    annotations: dict[str, str] | None = None,
    root: str = TEMPLATE_ROOT,
    layout: Layout = "sockets",
    **spec: Any,
) -> ApplyResult:
    """Apply an instance type and a preference to a VMI; other keyword arguments are fields of its spec."""
    draft = Draft(ObjectMeta(annotations=annotations), build_spec(domain, **spec))
    conflicts = apply(
        draft,
        None if instancetype is None else build_instancetype_spec(**instancetype),
        None if preference is None else build_preference_spec(**preference),
        root=root,
        layout=layout,
    )
    return ApplyResult(to_tree(draft.spec), to_tree(draft.metadata), conflicts)


def apply_to_spec(
    domain: JsonObject | None = None,
    instancetype: JsonObject | None = None,
    preference: JsonObject | None = None,
    **spec: Any,
) -> JsonObject:
    """Return the resulting spec; fail on conflicts."""
    shaped = apply_trees(domain, instancetype, preference, **spec)
    assert shaped.conflicts == []
    return shaped.spec


def apply_to_domain(
    domain: JsonObject | None = None,
    instancetype: JsonObject | None = None,
    preference: JsonObject | None = None,
    **spec: Any,
) -> JsonObject:
    """Return the resulting domain; fail on conflicts."""
    shaped: JsonObject = apply_to_spec(domain, instancetype, preference, **spec)["domain"]
    return shaped


def list_conflicts(domain: JsonObject, instancetype: JsonObject, **spec: Any) -> list[str]:
    """Return the fields below the template's spec that both the VM and its instance type set."""
    conflicts = apply_trees(domain, instancetype, **spec).conflicts
    assert all(c.message == f"VM field(s) {c.fields[0]} conflicts with selected instance type" for c in conflicts)
    return [field.removeprefix(f"{TEMPLATE_ROOT}.") for c in conflicts for field in c.fields]

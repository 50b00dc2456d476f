"""
Rewrite a VM to use an instance type: set the reference and remove the fields that conflict with it.

The functions work on JSON, so that fields unknown to this version are preserved.
"""

from copy import deepcopy
from typing import Any, Final, NamedTuple

from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.conflicts import check_conflicts
from virtshape.engine.expand import draft_template

_ANNOTATIONS: Final = "annotations."


class Rewritten(NamedTuple):
    """A VM that was rewritten to use an instance type, and the fields that were removed from the VM."""

    tree: JsonObject
    removed: list[str]


def use_instancetype(
    tree: JsonObject, vm: VirtualMachine, kind: str, name: str, instancetype: VirtualMachineInstancetypeSpec
) -> Rewritten:
    """Return a copy of the VM's JSON, without status, that uses the instance type; `vm` is the decoded VM."""
    rewritten = deepcopy(tree)
    rewritten.pop("status", None)
    spec = {key: value for key, value in rewritten["spec"].items() if key != "instancetype"}
    template = spec.pop("template")
    rewritten["spec"] = {**spec, "instancetype": {"kind": kind, "name": name}, "template": template}
    conflicts = check_conflicts(draft_template(vm), instancetype, TEMPLATE_ROOT)
    removed = [field for conflict in conflicts for field in conflict.fields if _remove(rewritten, _split(field))]
    return Rewritten(rewritten, removed)


def _split(field: str) -> list[str]:
    """Return the steps of the path to a conflicting field; an annotation's key is one step, although it has dots."""
    if field.startswith(_ANNOTATIONS):
        return ["spec", "template", "metadata", "annotations", field.removeprefix(_ANNOTATIONS)]
    return field.split(".")


def _remove(tree: Any, path: list[str]) -> bool:
    """Remove the field, and the objects that become empty without it; return False if it does not exist."""
    first, *rest = path
    # KubeVirt's message writes dedicatedCPUPlacement for the field dedicatedCpuPlacement.
    key = next((key for key in tree if key.lower() == first.lower()), None) if isinstance(tree, dict) else None
    if key is None:
        return False
    if not rest:
        del tree[key]
        return True
    is_removed = _remove(tree[key], rest)
    if is_removed and not tree[key]:
        del tree[key]
    return is_removed

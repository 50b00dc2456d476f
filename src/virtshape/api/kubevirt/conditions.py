"""
Find, set and remove conditions of VMs, instances and the KubeVirt object.

No function modifies its arguments: changes are returned as a new list.
"""

from collections.abc import Sequence
from typing import TypeVar

from msgspec.structs import replace

from virtshape.api.kubevirt.kubevirt import KubeVirtCondition
from virtshape.api.kubevirt.status import VirtualMachineInstanceCondition
from virtshape.api.kubevirt.virtualmachine import VirtualMachineCondition

C = TypeVar("C", VirtualMachineCondition, VirtualMachineInstanceCondition, KubeVirtCondition)


def find_condition(conditions: Sequence[C] | None, name: str) -> C | None:
    """Return the condition of this type, or None."""
    return next((one for one in conditions or () if one.type == name), None)


def is_condition_true(conditions: Sequence[C] | None, name: str) -> bool:
    """Return True if the condition exists and has status True."""
    found = find_condition(conditions, name)
    return found is not None and found.status == "True"


def put_condition(conditions: Sequence[C] | None, wanted: C, now: str) -> list[C]:
    """Return the conditions with `wanted` added or updated; its transition time changes only if its status changes."""
    current = find_condition(conditions, wanted.type)
    kept: list[C] = list(conditions or ())
    if current is None:
        kept.append(replace(wanted, last_transition_time=now))
        return kept
    since = current.last_transition_time if current.status == wanted.status else now
    stamped = replace(wanted, last_transition_time=since)
    return [stamped if one is current else one for one in kept]


def drop_condition(conditions: Sequence[C] | None, name: str) -> list[C]:
    """Return the conditions without the one of this type."""
    return [one for one in conditions or () if one.type != name]

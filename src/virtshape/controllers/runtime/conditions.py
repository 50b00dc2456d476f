"""
Conditions of VMs, instances and the installation: set one, drop one, and keep the time of the last change honest.

Pure: each function returns a new list and leaves the given one alone.
"""

from collections.abc import Sequence
from typing import TypeVar

from msgspec.structs import replace

from virtshape.api.kubevirt.configuration import KubeVirtCondition
from virtshape.api.kubevirt.machine import VirtualMachineCondition
from virtshape.api.kubevirt.status import VirtualMachineInstanceCondition

C = TypeVar("C", VirtualMachineCondition, VirtualMachineInstanceCondition, KubeVirtCondition)


def find_condition(conditions: Sequence[C] | None, name: str) -> C | None:
    """The condition of this type, if there is one."""
    return next((one for one in conditions or () if one.type == name), None)


def is_condition_true(conditions: Sequence[C] | None, name: str) -> bool:
    """Whether there is such a condition and it holds."""
    found = find_condition(conditions, name)
    return found is not None and found.status == "True"


def put_condition(conditions: Sequence[C] | None, wanted: C, now: str) -> list[C]:
    """The conditions with this one; its time changes only when its status does."""
    current = find_condition(conditions, wanted.type)
    kept: list[C] = list(conditions or ())
    if current is None:
        kept.append(replace(wanted, last_transition_time=now))
        return kept
    since = current.last_transition_time if current.status == wanted.status else now
    stamped = replace(wanted, last_transition_time=since)
    return [stamped if one is current else one for one in kept]


def drop_condition(conditions: Sequence[C] | None, name: str) -> list[C]:
    """The conditions without the one of this type."""
    return [one for one in conditions or () if one.type != name]

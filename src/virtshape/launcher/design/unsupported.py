"""
What an instance asks of the world around its guest: names, placement, credentials, helpers.

Pure: no I/O, no clock, no logging. Nothing of it is part of a domain; what nobody here sees to is said.
"""

from collections.abc import Iterator
from typing import Final

from virtshape.launcher.design.context import DesignContext

_ONE_MACHINE: Final = "there is one machine, which runs what fits"
_PLACED_NOWHERE: Final = ("None", "External")


def check_unsupported_fields(context: DesignContext) -> None:
    """Refuse what the guest would be lacking, and say what has no meaning without a cluster."""
    for index in range(len(context.spec.utility_volumes or ())):
        context.refuse(f"spec.utilityVolumes[{index}]", "nothing here would use it")
    if context.host.cluster:
        return
    for field, text in _find_meaningless(context):
        context.note(f"spec.{field}", text)


def _find_meaningless(context: DesignContext) -> Iterator[tuple[str, str]]:
    spec, affinity = context.spec, context.spec.affinity
    if spec.subdomain:
        yield "subdomain", "no name server here lists guests"
    if spec.dns_policy == "None":
        yield "dnsPolicy", "guests behind the machine ask its own name servers"
    if spec.dns_config is not None:
        yield "dnsConfig", "guests behind the machine ask its own name servers"
    if affinity is not None and affinity.pod_affinity is not None:
        yield "affinity.podAffinity", _ONE_MACHINE
    if affinity is not None and affinity.pod_anti_affinity is not None:
        yield "affinity.podAntiAffinity", _ONE_MACHINE
    if spec.topology_spread_constraints:
        yield "topologySpreadConstraints", _ONE_MACHINE
    if spec.scheduler_name:
        yield "schedulerName", _ONE_MACHINE
    if spec.priority_class_name:
        yield "priorityClassName", "no guest gives way to another here"
    if (spec.eviction_strategy or _PLACED_NOWHERE[0]) not in _PLACED_NOWHERE:
        yield "evictionStrategy", "there is no other machine that the guest could move to"

"""Report the fields of an instance that are not supported or have no effect outside a cluster."""

from collections.abc import Iterator
from typing import Final

from virtshape.launcher.design.context import DesignContext

_ONE_MACHINE: Final = "has no effect: there is only one host"
_PLACED_NOWHERE: Final = ("None", "External")


def check_unsupported_fields(context: DesignContext) -> None:
    """Refuse unsupported fields, and note those that have no effect without a cluster."""
    for index in range(len(context.spec.utility_volumes or ())):
        context.refuse(f"spec.utilityVolumes[{index}]", "is not supported")
    if context.host.cluster:
        return
    for field, text in _find_ineffective(context):
        context.note(f"spec.{field}", text)


def _find_ineffective(context: DesignContext) -> Iterator[tuple[str, str]]:
    spec, affinity = context.spec, context.spec.affinity
    if spec.subdomain:
        yield "subdomain", "has no effect: there is no DNS server for guests"
    if spec.dns_policy == "None":
        yield "dnsPolicy", "has no effect: guests use the name servers of the host"
    if spec.dns_config is not None:
        yield "dnsConfig", "has no effect: guests use the name servers of the host"
    if affinity is not None and affinity.pod_affinity is not None:
        yield "affinity.podAffinity", _ONE_MACHINE
    if affinity is not None and affinity.pod_anti_affinity is not None:
        yield "affinity.podAntiAffinity", _ONE_MACHINE
    if spec.topology_spread_constraints:
        yield "topologySpreadConstraints", _ONE_MACHINE
    if spec.scheduler_name:
        yield "schedulerName", _ONE_MACHINE
    if spec.priority_class_name:
        yield "priorityClassName", "has no effect: guests are not preempted"
    if (spec.eviction_strategy or _PLACED_NOWHERE[0]) not in _PLACED_NOWHERE:
        yield "evictionStrategy", "has no effect: there is no other host to migrate to"

"""
Probes: how one finds out whether a guest is well. Each asks in one way, at sensible times.

Pure: yields violations.
"""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.rules.checks import list_members
from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.instance import Probe, VirtualMachineInstanceSpec

_WAYS: Final = list_members(Probe, "guest_agent_ping", "exec", "http_get", "tcp_socket")
_TIMES: Final = list_members(
    Probe, "initial_delay_seconds", "period_seconds", "timeout_seconds", "success_threshold", "failure_threshold"
)


def check_probes(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[Violation]:
    """Whether the guest can be asked how it is."""
    has_pod_network = any(network.pod is not None for network in spec.networks or ()) or not spec.networks
    for name, probe in (("readinessProbe", spec.readiness_probe), ("livenessProbe", spec.liveness_probe)):
        if probe is None:
            continue
        at = f"{root}.{name}"
        yield from _check_probe(probe, at)
        if name == "livenessProbe" and probe.success_threshold not in (None, 0, 1):
            message = f"{at}.successThreshold must be 1 for a liveness probe"
            yield Violation("invalid-value", f"{at}.successThreshold", message)
        if not has_pod_network and (probe.http_get is not None or probe.tcp_socket is not None):
            message = f"{at} is only allowed if the Pod Network is attached"
            yield Violation("impossible-combination", at, message)


def _check_probe(probe: Probe, at: str) -> Iterator[Violation]:
    ways = _WAYS.list_present(probe)
    if not ways:
        message = f"{at} must have one of {', '.join(_WAYS.names)} set"
        yield Violation("one-of", at, message)
    elif len(ways) > 1:
        message = f"{at} must have exactly one probe type set: it has {' and '.join(ways)}"
        yield Violation("one-of", f"{at}.{ways[1]}", message)
    for name, value in _TIMES.list_values(probe):
        if value < 0:
            yield Violation("invalid-value", f"{at}.{name}", f"{at}.{name}: must be greater than or equal to 0")

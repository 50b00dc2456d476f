"""Validate readiness and liveness probes: each must have one handler and valid times."""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.rules.checks import list_members
from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.kubevirt.instance import Probe, VirtualMachineInstanceSpec

_WAYS: Final = list_members(Probe, "guest_agent_ping", "exec", "http_get", "tcp_socket")
_TIMES: Final = list_members(
    Probe, "initial_delay_seconds", "period_seconds", "timeout_seconds", "success_threshold", "failure_threshold"
)


def check_probes(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[FieldError]:
    """Check the readiness and liveness probes of a guest; `root` is the field path of the guest's spec."""
    if spec.readiness_probe is not None:
        yield from _check_probe(spec.readiness_probe, spec, f"{root}.readinessProbe")
    probe = spec.liveness_probe
    if probe is not None:
        field = f"{root}.livenessProbe.successThreshold"
        yield from _check_probe(probe, spec, f"{root}.livenessProbe")
        if probe.success_threshold not in (None, 0, 1):
            yield FieldError(field, f"{field} must be 1 for a liveness probe", rule="invalid-value")


def _check_probe(probe: Probe, spec: VirtualMachineInstanceSpec, at: str) -> Iterator[FieldError]:
    ways = _WAYS.list_present(probe)
    if not ways:
        reason = f"either {at}.tcpSocket, {at}.exec or {at}.httpGet must be set if a {at} is specified"
        yield FieldError(at, f"{reason}; {at}.guestAgentPing is supported too", VALUE_REQUIRED, rule="one-of")
    elif len(ways) > 1:
        message = f"{at} must have exactly one probe type set: it has {' and '.join(ways)}"
        yield FieldError(f"{at}.{ways[1]}", message, rule="one-of")
    for name, value in _TIMES.list_values(probe):
        if value < 0:
            yield FieldError(f"{at}.{name}", f"{at}.{name}: must be greater than or equal to 0", rule="invalid-value")
    if spec.networks and not any(network.pod is not None for network in spec.networks):
        for way in ways:
            if way in ("httpGet", "tcpSocket"):
                message = f"{at}.{way} is only allowed if the Pod Network is attached"
                yield FieldError(f"{at}.{way}", message, rule="impossible-combination")

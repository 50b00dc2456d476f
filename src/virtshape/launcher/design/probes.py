"""Design the readiness and liveness checks of a guest."""

from msgspec.structs import replace

from virtshape.api.kubevirt.instance import Probe
from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.guest.plan import Check, Checks


def design_checks(context: DesignContext) -> Checks:
    """Return the checks for the guest's probes."""
    return Checks(
        readiness=_design_check(context, context.spec.readiness_probe, "spec.readinessProbe"),
        liveness=_design_check(context, context.spec.liveness_probe, "spec.livenessProbe"),
    )


def _design_check(context: DesignContext, probe: Probe | None, at: str) -> Check | None:
    check = _choose_way(context, probe, at) if probe is not None else None
    if probe is None or check is None:
        return None
    return replace(
        check,
        delay=float(probe.initial_delay_seconds or 0),
        period=float(probe.period_seconds or check.period),
        timeout=float(probe.timeout_seconds or check.timeout),
        successes=probe.success_threshold or check.successes,
        failures=probe.failure_threshold or check.failures,
    )


def _choose_way(context: DesignContext, probe: Probe, at: str) -> Check | None:
    if probe.http_get is not None:
        asked = probe.http_get
        _check_host(context, asked.host, f"{at}.httpGet.host")
        return Check(
            way="http",
            port=_get_port(context, asked.port, f"{at}.httpGet.port"),
            host=asked.host or "",
            path=asked.path or "/",
            secure=asked.scheme == "HTTPS",
            headers=tuple((header.name, header.value) for header in asked.http_headers or ()),
        )
    if probe.tcp_socket is not None:
        port = _get_port(context, probe.tcp_socket.port, f"{at}.tcpSocket.port")
        _check_host(context, probe.tcp_socket.host, f"{at}.tcpSocket.host")
        return Check(way="tcp", port=port, host=probe.tcp_socket.host or "")
    if probe.exec is not None:
        if not probe.exec.command:
            context.refuse(f"{at}.exec.command", "is required")
        return Check(way="exec", command=tuple(probe.exec.command or ()))
    if probe.guest_agent_ping is not None:
        return Check(way="ping")
    context.refuse(at, "has no handler: set httpGet, tcpSocket, exec or guestAgentPing")
    return None


def _check_host(context: DesignContext, wanted: str | None, field: str) -> None:
    """Refuse the field `host` of a probe if the launcher process can reach addresses that the guest cannot reach."""
    if wanted and not context.host.cluster and context.host.isolation != "namespace":
        context.refuse(
            field, "is not possible for a guest without its own network namespace: leave it out to probe the guest"
        )


def _get_port(context: DesignContext, wanted: int | str, field: str) -> int:
    """Return a port number; a name refers to a port of an interface."""
    if isinstance(wanted, int) or wanted.isdecimal():
        return int(wanted)
    for interface in context.devices.interfaces or ():
        for port in interface.ports or ():
            if port.name == wanted and port.port:
                return port.port
    context.refuse(field, f"no interface has a port named {wanted}")
    return 0

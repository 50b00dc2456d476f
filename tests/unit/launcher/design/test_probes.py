"""Readiness and liveness probes of an instance."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.domains import ACCELERATED, design_guest

from virtshape.api.model import JsonObject
from virtshape.launcher.guest.plan import Check, Checks
from virtshape.launcher.host import Isolation

NAMED: JsonObject = {
    "devices": {"interfaces": [{"name": "default", "masquerade": {}, "ports": [{"name": "web", "port": 80}]}]}
}
POD = [{"name": "default", "pod": {}}]

WAYS: dict[str, tuple[JsonObject, Check]] = {
    "TCP": ({"tcpSocket": {"port": 22}}, Check(way="tcp", port=22)),
    "to another host": ({"tcpSocket": {"port": "22", "host": "h"}}, Check(way="tcp", port=22, host="h")),
    "HTTP": ({"httpGet": {"port": 80}}, Check(way="http", port=80)),
    "HTTP with all fields": (
        {
            "httpGet": {
                "port": "web",
                "path": "/healthy",
                "scheme": "HTTPS",
                "httpHeaders": [{"name": "A", "value": "b"}],
            }
        },
        Check(way="http", port=80, path="/healthy", secure=True, headers=(("A", "b"),)),
    ),
    "exec": ({"exec": {"command": ["true", "x"]}}, Check(way="exec", command=("true", "x"))),
    "guest agent ping": ({"guestAgentPing": {}}, Check(way="ping")),
    "custom timing": (
        {
            "guestAgentPing": {},
            "initialDelaySeconds": 5,
            "periodSeconds": 2,
            "timeoutSeconds": 3,
            "successThreshold": 4,
            "failureThreshold": 6,
        },
        Check(way="ping", delay=5, period=2, timeout=3, successes=4, failures=6),
    ),
}


@pytest.mark.parametrize(("probe", "check"), WAYS.values(), ids=WAYS)
def test_probe_is_converted_to_a_check(probe: JsonObject, check: Check) -> None:
    host = replace(ACCELERATED, isolation="namespace")
    designed = design_guest(NAMED, networks=POD, readinessProbe=probe, host=host)
    assert designed.checks == Checks(readiness=check)
    assert design_guest(NAMED, networks=POD, livenessProbe=probe, host=host).checks == Checks(liveness=check)
    assert not designed.refusals


IMPOSSIBLE: dict[str, tuple[Any, str, str]] = {
    "unknown port name": (
        {"httpGet": {"port": "ftp"}},
        "spec.livenessProbe.httpGet.port",
        "no interface has a port named ftp",
    ),
    "no command": ({"exec": {}}, "spec.livenessProbe.exec.command", "is required"),
    "no handler": ({}, "spec.livenessProbe", "has no handler: set httpGet, tcpSocket, exec or guestAgentPing"),
}


@pytest.mark.parametrize(("probe", "field", "reason"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_unsupported_probe_is_refused(probe: JsonObject, field: str, reason: str) -> None:
    refusals = design_guest(NAMED, networks=POD, livenessProbe=probe).refusals
    assert [(one.field, one.reason) for one in refusals] == [(field, reason)]


@pytest.mark.parametrize("way", ["tcpSocket", "httpGet"])
@pytest.mark.parametrize("isolation", ["none", "restricted"])
def test_probe_of_another_host_is_refused_without_a_network_namespace(way: str, isolation: Isolation) -> None:
    host = replace(ACCELERATED, isolation=isolation)
    probe = {way: {"port": 80, "host": "169.254.169.254"}}
    (refusal,) = design_guest(NAMED, networks=POD, readinessProbe=probe, host=host).refusals
    assert refusal.field == f"spec.readinessProbe.{way}.host"
    assert "without its own network namespace" in refusal.reason


def test_probe_of_another_host_is_possible_in_a_pod() -> None:
    host = replace(ACCELERATED, cluster=True)
    designed = design_guest(NAMED, networks=POD, readinessProbe={"tcpSocket": {"port": 80, "host": "db"}}, host=host)
    assert not designed.refusals

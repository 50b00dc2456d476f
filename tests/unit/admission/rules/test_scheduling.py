"""Validation of tolerations, topology spread constraints, start strategy and probes."""

import pytest
from tests.unit.admission.rules.guests import Findings, assert_findings, guest, interface

from virtshape.admission.rules.vmi import check_guest
from virtshape.api.model import JsonObject

INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "toleration with Equal and without a key": (
        guest(tolerations=[{"operator": "Equal"}]),
        [
            (
                "spec.tolerations[0].operator",
                'operator must be Exists when `key` is empty, which means "match all values and all keys"',
            )
        ],
    ),
    "toleration with Exists and a value": (
        guest(tolerations=[{"key": "k", "operator": "Exists", "value": "v"}]),
        [("spec.tolerations[0].value", "value must be empty when `operator` is 'Exists")],
    ),
    "toleration seconds without NoExecute": (
        guest(tolerations=[{"key": "k", "effect": "NoSchedule", "tolerationSeconds": 1}]),
        [("spec.tolerations[0].effect", "effect must be 'NoExecute' when `tolerationSeconds` is set")],
    ),
    "maxSkew 0": (
        guest(topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]),
        [("spec.topologySpreadConstraints[0].maxSkew", "must be greater than zero")],
    ),
    "empty topology key": (
        guest(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "", "whenUnsatisfiable": "DoNotSchedule"}]),
        [("spec.topologySpreadConstraints[0].topologyKey", "can not be empty")],
    ),
    "minDomains without DoNotSchedule": (
        guest(
            topologySpreadConstraints=[
                {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 0}
            ]
        ),
        [
            ("spec.topologySpreadConstraints[0].minDomains", "must be greater than zero"),
            (
                "spec.topologySpreadConstraints[0].minDomains",
                "can only use minDomains if whenUnsatisfiable=DoNotSchedule",
            ),
        ],
    ),
    "unknown start strategy": (
        guest(startStrategy="Slow"),
        [("spec.startStrategy", "is set with an unrecognized option")],
    ),
    "paused start with a liveness probe": (
        guest(startStrategy="Paused", livenessProbe={"guestAgentPing": {}}),
        [("spec.startStrategy", "should be provided.Pausing VMI with LivenessProbe is not supported")],
    ),
    "negative grace period": (
        guest(terminationGracePeriodSeconds=-1),
        [("spec.terminationGracePeriodSeconds", "must be greater than or equal to 0")],
    ),
    "probe without a handler": (guest(readinessProbe={}), [("spec.readinessProbe", "must be set if a")]),
    "probe with two handlers": (
        guest(livenessProbe={"guestAgentPing": {}, "tcpSocket": {"port": 1}}),
        [("spec.livenessProbe.tcpSocket", "must have exactly one probe type set")],
    ),
    "negative probe period": (
        guest(readinessProbe={"guestAgentPing": {}, "periodSeconds": -1}),
        [("spec.readinessProbe.periodSeconds", "must be greater than or equal to 0")],
    ),
    "liveness probe with success threshold 2": (
        guest(livenessProbe={"guestAgentPing": {}, "successThreshold": 2}),
        [("spec.livenessProbe.successThreshold", "must be 1 for a liveness probe")],
    ),
    "TCP probe without a pod network": (
        {**interface({"multus": {"networkName": "n"}}, bridge={}), "readinessProbe": {"tcpSocket": {"port": 1}}},
        [("spec.readinessProbe.tcpSocket", "is only allowed if the Pod Network is attached")],
    ),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_scheduling_field_or_probe_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_guest, tree, expected)

"""Validation of tolerations, topology spread constraints, start strategy and probes."""

import pytest
from tests.unit.admission.rules.guests import Told, expect, guest, interface

from virtshape.admission.rules.instance import check_guest
from virtshape.api.model import JsonObject

BROKEN: dict[str, tuple[JsonObject, Told]] = {
    "a toleration of everything but": (
        guest(tolerations=[{"operator": "Equal"}]),
        [
            (
                "spec.tolerations[0].operator",
                'operator must be Exists when `key` is empty, which means "match all values and all keys"',
            )
        ],
    ),
    "a toleration of a value that exists": (
        guest(tolerations=[{"key": "k", "operator": "Exists", "value": "v"}]),
        [("spec.tolerations[0].value", "value must be empty when `operator` is 'Exists")],
    ),
    "a toleration for a while": (
        guest(tolerations=[{"key": "k", "effect": "NoSchedule", "tolerationSeconds": 1}]),
        [("spec.tolerations[0].effect", "effect must be 'NoExecute' when `tolerationSeconds` is set")],
    ),
    "a skew of nought": (
        guest(topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]),
        [("spec.topologySpreadConstraints[0].maxSkew", "must be greater than zero")],
    ),
    "spread over nothing": (
        guest(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "", "whenUnsatisfiable": "DoNotSchedule"}]),
        [("spec.topologySpreadConstraints[0].topologyKey", "can not be empty")],
    ),
    "a number of domains that does not count": (
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
    "a start strategy that is none": (
        guest(startStrategy="Slow"),
        [("spec.startStrategy", "is set with an unrecognized option")],
    ),
    "paused and watched": (
        guest(startStrategy="Paused", livenessProbe={"guestAgentPing": {}}),
        [("spec.startStrategy", "should be provided.Pausing VMI with LivenessProbe is not supported")],
    ),
    "a grace period in the past": (
        guest(terminationGracePeriodSeconds=-1),
        [("spec.terminationGracePeriodSeconds", "must be greater than or equal to 0")],
    ),
    "a probe that does not ask": (guest(readinessProbe={}), [("spec.readinessProbe", "must be set if a")]),
    "a probe that asks twice": (
        guest(livenessProbe={"guestAgentPing": {}, "tcpSocket": {"port": 1}}),
        [("spec.livenessProbe.tcpSocket", "must have exactly one probe type set")],
    ),
    "a probe back in time": (
        guest(readinessProbe={"guestAgentPing": {}, "periodSeconds": -1}),
        [("spec.readinessProbe.periodSeconds", "must be greater than or equal to 0")],
    ),
    "life that takes two successes": (
        guest(livenessProbe={"guestAgentPing": {}, "successThreshold": 2}),
        [("spec.livenessProbe.successThreshold", "must be 1 for a liveness probe")],
    ),
    "a probe of no pod network": (
        {**interface({"multus": {"networkName": "n"}}, bridge={}), "readinessProbe": {"tcpSocket": {"port": 1}}},
        [("spec.readinessProbe.tcpSocket", "is only allowed if the Pod Network is attached")],
    ),
}


@pytest.mark.parametrize(("tree", "told"), BROKEN.values(), ids=BROKEN)
def test_violation_is_reported_at_its_field(tree: JsonObject, told: Told) -> None:
    expect(check_guest, tree, told)

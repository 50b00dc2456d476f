"""Validation of devices allocated by resource claims."""

from typing import Any

import pytest
from tests.unit.admission.rules.guests import D, Told, expect

from virtshape.admission.rules.optional import check_optional
from virtshape.api.model import JsonObject

CLAIM: JsonObject = {"name": "c", "resourceClaimName": "rc"}
TAKEN: JsonObject = {"claimName": "c", "requestName": "r"}


def claimed(
    *, claims: list[JsonObject] | None = None, networks: list[JsonObject] | None = None, **devices: Any
) -> JsonObject:
    listed = [CLAIM] if claims is None else claims
    return {"resourceClaims": listed, "networks": networks or [], "domain": {"devices": devices}}


def network(*, binding: str = "sriov", more: list[JsonObject] | None = None, **claim: Any) -> JsonObject:
    networks = [{"name": "lan", "resourceClaim": claim}, *(more or [])]
    return claimed(networks=networks, interfaces=[{"name": "lan", binding: {}}])


BROKEN: dict[str, tuple[JsonObject, Told]] = {
    "two claims of a name": (
        claimed(claims=[CLAIM, CLAIM]),
        [("spec.resourceClaims[1].name", 'duplicate resourceClaims name "c"')],
    ),
    "a claim of nothing": (
        claimed(claims=[{"name": "c"}]),
        [("spec.resourceClaims[0]", "must specify exactly one of resourceClaimName and resourceClaimTemplateName")],
    ),
    "a GPU of its own and out of a claim": (
        claimed(gpus=[{"name": "g", "deviceName": "d", **TAKEN}]),
        [
            (f"{D}.devices.gpus[0].claimName", "vmi.spec.domain.devices.gpus contains GPUs with both deviceName and"),
            (f"{D}.devices.gpus", "vmi.spec.domain.devices.gpus contains both DRA and non-DRA GPUs"),
        ],
    ),
    "GPUs of both sorts": (
        claimed(gpus=[{"name": "g", **TAKEN}, {"name": "h", "deviceName": "d"}]),
        [(f"{D}.devices.gpus", "vmi.spec.domain.devices.gpus contains both DRA and non-DRA GPUs; each GPU must be")],
    ),
    "a GPU out of no request": (
        claimed(gpus=[{"name": "g", "claimName": "c"}]),
        [(f"{D}.devices.gpus[0].requestName", "requestName is required for DRA GPU")],
    ),
    "a host device out of no claim": (
        claimed(hostDevices=[{"name": "h", "requestName": "r"}]),
        [(f"{D}.devices.hostDevices[0].claimName", "claimName is required for DRA HostDevice")],
    ),
    "a claim that is not there": (
        claimed(claims=[], gpus=[{"name": "g", **TAKEN}]),
        [(f"{D}.devices.gpus[0].claimName", "vmi.spec.resourceClaims must specify all claims used in")],
    ),
    "a device taken twice": (
        claimed(gpus=[{"name": "g", **TAKEN}], hostDevices=[{"name": "h", **TAKEN}]),
        [(f"{D}.devices.hostDevices[0]", 'duplicate claimName/requestName pair "c/r"')],
    ),
    "a network out of no request": (
        network(claimName="c"),
        [("spec.networks[0].resourceClaim.requestName", "requestName is required for DRA network")],
    ),
    "a network out of a claim that is not there": (
        network(claimName="x", requestName="r"),
        [
            (
                "spec.networks[0].resourceClaim.claimName",
                'network references resourceClaim "x" which is not defined in spec.resourceClaims',
            )
        ],
    ),
    "a network out of a claim, by a bridge": (
        network(binding="bridge", **TAKEN),
        [(f"{D}.devices.interfaces", 'DRA network "lan" requires an SR-IOV interface binding')],
    ),
    "a network out of a claim beside another": (
        network(more=[{"name": "wan", "multus": {"networkName": "n"}}], **TAKEN),
        [("spec.networks", "mixing Multus and DRA resourceClaim networks in the same VMI is not supported")],
    ),
}

KEPT: dict[str, JsonObject] = {
    "a GPU and a host device": claimed(
        gpus=[{"name": "g", **TAKEN}], hostDevices=[{"name": "h", "claimName": "c", "requestName": "s"}]
    ),
    "host devices of both sorts": claimed(hostDevices=[{"name": "h", **TAKEN}, {"name": "i", "deviceName": "d"}]),
    "GPUs without claims": claimed(claims=[], gpus=[{"name": "g", "deviceName": "d"}]),
    "a network": network(**TAKEN),
}


@pytest.mark.parametrize(("tree", "told"), BROKEN.values(), ids=BROKEN)
def test_violation_is_reported_at_its_field(tree: JsonObject, told: Told) -> None:
    expect(check_optional, tree, told)


@pytest.mark.parametrize("tree", KEPT.values(), ids=KEPT)
def test_valid_objects_pass(tree: JsonObject) -> None:
    expect(check_optional, tree, [])

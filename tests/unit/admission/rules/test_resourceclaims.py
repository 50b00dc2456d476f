"""Validation of devices allocated by resource claims."""

from typing import Any

import pytest
from tests.unit.admission.rules.guests import D, Findings, assert_findings

from virtshape.admission.rules.optional import check_optional
from virtshape.api.model import JsonObject

CLAIM: JsonObject = {"name": "c", "resourceClaimName": "rc"}
REQUEST: JsonObject = {"claimName": "c", "requestName": "r"}


def claimed(
    *, claims: list[JsonObject] | None = None, networks: list[JsonObject] | None = None, **devices: Any
) -> JsonObject:
    listed = [CLAIM] if claims is None else claims
    return {"resourceClaims": listed, "networks": networks or [], "domain": {"devices": devices}}


def network(*, binding: str = "sriov", more: list[JsonObject] | None = None, **claim: Any) -> JsonObject:
    networks = [{"name": "lan", "resourceClaim": claim}, *(more or [])]
    return claimed(networks=networks, interfaces=[{"name": "lan", binding: {}}])


INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "duplicate claim name": (
        claimed(claims=[CLAIM, CLAIM]),
        [("spec.resourceClaims[1].name", 'duplicate resourceClaims name "c"')],
    ),
    "claim without a source": (
        claimed(claims=[{"name": "c"}]),
        [("spec.resourceClaims[0]", "must specify exactly one of resourceClaimName and resourceClaimTemplateName")],
    ),
    "GPU with both a device name and a claim": (
        claimed(gpus=[{"name": "g", "deviceName": "d", **REQUEST}]),
        [
            (f"{D}.devices.gpus[0].claimName", "vmi.spec.domain.devices.gpus contains GPUs with both deviceName and"),
            (f"{D}.devices.gpus", "vmi.spec.domain.devices.gpus contains both DRA and non-DRA GPUs"),
        ],
    ),
    "GPUs with and without claims": (
        claimed(gpus=[{"name": "g", **REQUEST}, {"name": "h", "deviceName": "d"}]),
        [(f"{D}.devices.gpus", "vmi.spec.domain.devices.gpus contains both DRA and non-DRA GPUs; each GPU must be")],
    ),
    "GPU without a request name": (
        claimed(gpus=[{"name": "g", "claimName": "c"}]),
        [(f"{D}.devices.gpus[0].requestName", "requestName is required for DRA GPU")],
    ),
    "host device without a claim name": (
        claimed(hostDevices=[{"name": "h", "requestName": "r"}]),
        [(f"{D}.devices.hostDevices[0].claimName", "claimName is required for DRA HostDevice")],
    ),
    "GPU of an undefined claim": (
        claimed(claims=[], gpus=[{"name": "g", **REQUEST}]),
        [(f"{D}.devices.gpus[0].claimName", "vmi.spec.resourceClaims must specify all claims used in")],
    ),
    "two devices of one request": (
        claimed(gpus=[{"name": "g", **REQUEST}], hostDevices=[{"name": "h", **REQUEST}]),
        [(f"{D}.devices.hostDevices[0]", 'duplicate claimName/requestName pair "c/r"')],
    ),
    "network without a request name": (
        network(claimName="c"),
        [("spec.networks[0].resourceClaim.requestName", "requestName is required for DRA network")],
    ),
    "network of an undefined claim": (
        network(claimName="x", requestName="r"),
        [
            (
                "spec.networks[0].resourceClaim.claimName",
                'network references resourceClaim "x" which is not defined in spec.resourceClaims',
            )
        ],
    ),
    "network of a claim with a bridge binding": (
        network(binding="bridge", **REQUEST),
        [(f"{D}.devices.interfaces", 'DRA network "lan" requires an SR-IOV interface binding')],
    ),
    "network of a claim and a Multus network": (
        network(more=[{"name": "wan", "multus": {"networkName": "n"}}], **REQUEST),
        [("spec.networks", "mixing Multus and DRA resourceClaim networks in the same VMI is not supported")],
    ),
}

VALID: dict[str, JsonObject] = {
    "GPU and host device": claimed(
        gpus=[{"name": "g", **REQUEST}], hostDevices=[{"name": "h", "claimName": "c", "requestName": "s"}]
    ),
    "host devices with and without claims": claimed(
        hostDevices=[{"name": "h", **REQUEST}, {"name": "i", "deviceName": "d"}]
    ),
    "GPUs without claims": claimed(claims=[], gpus=[{"name": "g", "deviceName": "d"}]),
    "network": network(**REQUEST),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_resource_claim_of_a_device_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_optional, tree, expected)


@pytest.mark.parametrize("tree", VALID.values(), ids=VALID)
def test_devices_with_valid_resource_claims_are_accepted(tree: JsonObject) -> None:
    assert_findings(check_optional, tree, [])

"""Resource requests and limits compared with the capacity of the host."""

import pytest
from msgspec.structs import replace
from tests.support.domains import ACCELERATED, GIB, design_guest, list_notes, list_refusals

from virtshape.api.model import JsonObject

SMALL = replace(ACCELERATED, cpus=(0, 1), memory=8 * GIB, devices={"vendor.com/card": ("0000:01:00.0",)})


@pytest.mark.parametrize(
    "domain",
    [
        pytest.param({"memory": {"guest": "8Gi"}}, id="all memory"),
        pytest.param(
            {"memory": {"guest": "16Gi"}, "resources": {"requests": {"memory": "4Gi"}}}, id="more than is requested"
        ),
        pytest.param({"resources": {"requests": {"cpu": "2"}}}, id="all CPUs"),
        pytest.param({"cpu": {"sockets": 8}}, id="more vCPUs than CPUs"),
        pytest.param(
            {"cpu": {"sockets": 2}, "resources": {"limits": {"cpu": "2"}}}, id="limits that cannot be exceeded"
        ),
        pytest.param({"resources": {"limits": {"memory": "2Gi"}}}, id="a limit above the guest's memory"),
        pytest.param({"resources": {"requests": {"vendor.com/card": "1"}}}, id="available device"),
        pytest.param(
            {
                "memory": {"guest": "8Gi", "reservedOverhead": {"addedOverhead": "1Gi"}},
                "resources": {"overcommitGuestOverhead": True},
            },
            id="overcommitted overhead",
        ),
    ],
)
def test_available_resources_are_accepted(domain: JsonObject) -> None:
    design = design_guest(domain, host=SMALL)
    assert (list_refusals(design), list_notes(design)) == ({}, {})


@pytest.mark.parametrize(
    ("domain", "refusals"),
    [
        pytest.param(
            {"memory": {"guest": "16Gi"}},
            {"memory.guest": "requests 16Gi of memory; this host has 8Gi"},
            id="a guest larger than the machine",
        ),
        pytest.param(
            {"resources": {"requests": {"memory": "9Gi"}}},
            {"resources.requests.memory": "requests 9Gi of memory; this host has 8Gi"},
            id="a request larger than the machine",
        ),
        pytest.param(
            {"memory": {"guest": "8Gi", "reservedOverhead": {"addedOverhead": "1Gi"}}},
            {"memory.guest": "requests 9Gi of memory; this host has 8Gi"},
            id="overhead",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "2500m"}}},
            {"resources.requests.cpu": "requests 2500m CPUs; this host has 2"},
            id="CPUs",
        ),
        pytest.param(
            {"resources": {"limits": {"memory": "512Mi"}}},
            {"resources.limits.memory": "is less than the 1Gi that the guest has"},
            id="a limit below the guest's memory",
        ),
        pytest.param(
            {"resources": {"requests": {"vendor.com/gpu": "1"}, "limits": {"vendor.com/gpu": "1"}}},
            {
                "resources.requests[vendor.com/gpu]": "this host has no such resource",
                "resources.limits[vendor.com/gpu]": "this host has no such resource",
            },
            id="unavailable device",
        ),
    ],
)
def test_unavailable_resources_are_refused(domain: JsonObject, refusals: dict[str, str]) -> None:
    assert list_refusals(design_guest(domain, host=SMALL)) == refusals


def test_resource_limit_that_is_not_enforced_has_a_note() -> None:
    design = design_guest({"cpu": {"sockets": 2}, "resources": {"limits": {"cpu": "500m"}}}, host=SMALL)
    assert list_notes(design) == {"resources.limits.cpu": "is not enforced: the guest can use all of its 2 vCPUs"}


def test_guest_of_any_size_is_accepted_on_a_host_with_unknown_capacity() -> None:
    host = replace(SMALL, memory=0, cpus=())
    design = design_guest({"memory": {"guest": "1Ti"}, "resources": {"requests": {"cpu": "64"}}}, host=host)
    assert design.refusals == ()

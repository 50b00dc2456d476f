"""Validation of memory and hugepages."""

import pytest
from tests.unit.admission.rules.guests import D, Findings, assert_findings, domain

from virtshape.admission.rules.vmi import check_guest
from virtshape.api.model import JsonObject

PINNED: JsonObject = {"dedicatedCpuPlacement": True, "sockets": 2, "cores": 1, "threads": 1}
HUGE: JsonObject = {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}
PASSTHROUGH: JsonObject = {"numa": {"guestMappingPassthrough": {}}}

INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "memory above the limit": (
        domain(memory={"guest": "2Gi"}, resources={"limits": {"memory": "1Gi"}}),
        [(f"{D}.memory.guest", "must be equal to or less than the memory limit")],
    ),
    "guest memory too small": (
        domain(memory={"guest": "1Ki"}),
        [(f"{D}.memory.guest", "must be greater than or equal to 1M.")],
    ),
    "memory request too small": (
        domain(memory={"guest": "1Gi"}, resources={"requests": {"memory": "1Ki"}}),
        [(f"{D}.resources.requests.memory", "must be greater than or equal to 1M.")],
    ),
    "memory above maxGuest": (
        domain(memory={"guest": "2Gi", "maxGuest": "1Gi"}),
        [(f"{D}.memory.guest", "Guest memory is greater than the configured maxGuest memory")],
    ),
    "hotplug with too little memory": (
        domain(memory={"guest": "512Mi", "maxGuest": "1Gi"}),
        [
            (
                f"{D}.memory.guest",
                "Memory hotplug is only available for VMs with at least 1Gi of guest memory, not 512Mi",
            )
        ],
    ),
    "hotplug with unaligned memory": (
        domain(memory={"guest": "1025Mi", "maxGuest": "2049Mi"}),
        [
            (f"{D}.memory.guest", "Guest memory must be 2Mi aligned for memory hotplug"),
            (f"{D}.memory.maxGuest", "MaxGuest must be 2Mi aligned for memory hotplug"),
        ],
    ),
    "maxGuest out of range": (
        domain(memory={"guest": "1Gi", "maxGuest": "1e999999999"}),
        [
            (
                f"{D}.memory.maxGuest",
                "MaxGuest must be 2Mi aligned for memory hotplug: 1e999999999 is not a multiple of 2Mi",
            )
        ],
    ),
    "hugepages with memory out of range": (
        domain(memory={"guest": "1e999999999", "hugepages": {"pageSize": "2Mi"}}),
        [(f"{D}.memory.hugepages.pageSize", "is not a multiple of the page size")],
    ),
    "maxGuest that is not a multiple of the page size": (
        domain(memory={"guest": "1Gi", "maxGuest": "1538Mi", "hugepages": {"pageSize": "1Gi"}}),
        [(f"{D}.memory.maxGuest", "MaxGuest must be 1Gi aligned for memory hotplug")],
    ),
    "hotplug with realtime": (
        domain(cpu={**PINNED, **PASSTHROUGH, "realtime": {}}, memory={**HUGE, "maxGuest": "2Gi"}),
        [
            (f"{D}.memory.maxGuest", "Memory hotplug is not compatible with realtime VMs"),
            (f"{D}.memory.maxGuest", "Memory hotplug is not compatible with guest mapping passthrough"),
        ],
    ),
    "invalid page size": (
        domain(memory={"guest": "1Gi", "hugepages": {"pageSize": "big"}}),
        [(f"{D}.memory.hugepages.pageSize", "'big': must be a quantity such as 2Mi")],
    ),
    "page size 0": (
        domain(memory={"guest": "1Gi", "hugepages": {"pageSize": "0"}}),
        [(f"{D}.memory.hugepages.pageSize", "'0': must be greater than 0")],
    ),
    "page size larger than memory": (
        domain(memory={"guest": "1Mi", "hugepages": {"pageSize": "2Mi"}}),
        [(f"{D}.memory.hugepages.pageSize", "must be equal to or larger than page size")],
    ),
    "memory that is not a multiple of the page size": (
        domain(memory={"guest": "5Mi", "hugepages": {"pageSize": "2Mi"}}),
        [(f"{D}.memory.hugepages.pageSize", "is not a multiple of the page size")],
    ),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_memory_setting_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_guest, tree, expected)

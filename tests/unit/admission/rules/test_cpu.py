"""Validation of vCPUs, CPU features and dedicated CPUs."""

import pytest
from tests.unit.admission.rules.guests import D, Findings, assert_findings, domain

from virtshape.admission.rules.vmi import check_guest
from virtshape.api.model import JsonObject

PINNED: JsonObject = {"dedicatedCpuPlacement": True, "sockets": 2, "cores": 1, "threads": 1}
MEMORY: JsonObject = {"guest": "1Gi"}
HUGE: JsonObject = {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}

INVALID: dict[str, tuple[JsonObject, Findings]] = {
    "unknown feature policy": (
        domain(cpu={"features": [{"name": "a", "policy": "maybe"}]}),
        [(f"{D}.cpu.features[0].policy", "CPU feature a uses policy maybe that is not supported")],
    ),
    "more sockets than maxSockets": (
        domain(cpu={"sockets": 4, "maxSockets": 2}),
        [(f"{D}.cpu.sockets", "Number of sockets in CPU topology is greater than the maximum sockets allowed")],
    ),
    "isolated emulator thread without dedicated CPUs": (
        domain(cpu={"isolateEmulatorThread": True}),
        [
            (
                f"{D}.cpu.isolateEmulatorThread",
                "IsolateEmulatorThread should be only set in combination with DedicatedCPUPlacement",
            )
        ],
    ),
    "realtime without dedicated CPUs": (
        domain(cpu={"realtime": {}}),
        [
            (f"{D}.cpu.dedicatedCpuPlacement", "must be set to true when"),
            (f"{D}.cpu.numa.guestMappingPassthrough", "must be defined when"),
        ],
    ),
    "realtime without NUMA": (
        domain(memory=MEMORY, cpu={**PINNED, "realtime": {}}),
        [(f"{D}.cpu.numa.guestMappingPassthrough", "must be defined when")],
    ),
    "dedicated CPUs without memory": (
        domain(cpu=PINNED),
        [(f"{D}.resources.limits.memory", "memory.guest should be provided when DedicatedCPUPlacement is true")],
    ),
    "more than two threads per core": (
        domain(memory=MEMORY, cpu={"dedicatedCpuPlacement": True, "threads": 4}),
        [(f"{D}.cpu.dedicatedCpuPlacement", "Not more than two threads must be provided at")],
    ),
    "dedicated CPUs with different memory request and limit": (
        domain(cpu=PINNED, resources={"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}),
        [(f"{D}.resources.requests.memory", "requests.memory must be equal to")],
    ),
    "NUMA without dedicated CPUs": (
        domain(cpu={"numa": {"guestMappingPassthrough": {}}}, memory=HUGE),
        [(f"{D}.cpu.numa.guestMappingPassthrough", "must be set to true when NUMA topology strategy is set in")],
    ),
    "NUMA without hugepages": (
        domain(memory=MEMORY, cpu={**PINNED, "numa": {"guestMappingPassthrough": {}}}),
        [(f"{D}.cpu.numa.guestMappingPassthrough", "must be requested when NUMA topology strategy is set in")],
    ),
    "CPU request out of range": (
        domain(memory=MEMORY, cpu=PINNED, resources={"requests": {"cpu": "1e999999999"}}),
        [
            (f"{D}.resources.requests.cpu", "'1e999999999': must be less than or equal to 4294967295."),
            (f"{D}.cpu.dedicatedCpuPlacement", "1e999999999 CPUs are requested, but the guest has 2 vCPUs"),
        ],
    ),
    "CPU limit out of range": (
        domain(resources={"requests": {"cpu": "1k"}, "limits": {"cpu": "4294967296"}}),
        [(f"{D}.resources.limits.cpu", "'4294967296': must be less than or equal to 4294967295.")],
    ),
    "dedicated CPUs with a fractional request": (
        domain(memory=MEMORY, cpu=PINNED, resources={"requests": {"cpu": "1500m"}}),
        [
            (
                f"{D}.resources.requests.cpu",
                "provided resources CPU requests must be an integer when DedicatedCPUPlacement is true",
            )
        ],
    ),
    "dedicated CPUs with different request and limit": (
        domain(memory=MEMORY, cpu=PINNED, resources={"requests": {"cpu": "2"}, "limits": {"cpu": "3"}}),
        [(f"{D}.cpu.dedicatedCpuPlacement", "must be equal when DedicatedCPUPlacement is true")],
    ),
    "dedicated CPUs with a CPU limit": (
        domain(memory=MEMORY, cpu=PINNED, resources={"limits": {"cpu": "3"}}),
        [(f"{D}.cpu.dedicatedCpuPlacement", "must not be provided at the same time with")],
    ),
    "request above the limit": (
        domain(resources={"requests": {"cpu": "3"}, "limits": {"cpu": "2"}}),
        [(f"{D}.resources.requests.cpu", "is greater than")],
    ),
    "negative request": (
        domain(resources={"requests": {"cpu": "-1"}}),
        [(f"{D}.resources.requests.cpu", "'-1': must be greater than or equal to 0.")],
    ),
}


@pytest.mark.parametrize(("tree", "expected"), INVALID.values(), ids=INVALID)
def test_invalid_cpu_setting_is_reported_at_its_field(tree: JsonObject, expected: Findings) -> None:
    assert_findings(check_guest, tree, expected)

"""Validation of vCPUs, CPU features and dedicated CPUs."""

import pytest
from tests.unit.admission.rules.guests import D, Told, domain, expect

from virtshape.admission.rules.instance import check_guest
from virtshape.api.model import JsonObject

PINNED: JsonObject = {"dedicatedCpuPlacement": True, "sockets": 2, "cores": 1, "threads": 1}
HUGE: JsonObject = {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}

BROKEN: dict[str, tuple[JsonObject, Told]] = {
    "a feature policy that is none": (
        domain(cpu={"features": [{"name": "a", "policy": "maybe"}]}),
        [(f"{D}.cpu.features[0].policy", "CPU feature a uses policy maybe that is not supported")],
    ),
    "more sockets than there may be": (
        domain(cpu={"sockets": 4, "maxSockets": 2}),
        [(f"{D}.cpu.sockets", "Number of sockets in CPU topology is greater than the maximum sockets allowed")],
    ),
    "an emulator thread of its own without CPUs": (
        domain(cpu={"isolateEmulatorThread": True}),
        [
            (
                f"{D}.cpu.isolateEmulatorThread",
                "IsolateEmulatorThread should be only set in combination with DedicatedCPUPlacement",
            )
        ],
    ),
    "realtime without CPUs of its own": (
        domain(cpu={"realtime": {}}),
        [
            (f"{D}.cpu.dedicatedCpuPlacement", "must be set to true when"),
            (f"{D}.cpu.numa.guestMappingPassthrough", "must be defined when"),
        ],
    ),
    "realtime without NUMA": (
        domain(cpu={**PINNED, "realtime": {}}),
        [(f"{D}.cpu.numa.guestMappingPassthrough", "must be defined when")],
    ),
    "more threads than a CPU has": (
        domain(cpu={"dedicatedCpuPlacement": True, "threads": 4}),
        [(f"{D}.cpu.dedicatedCpuPlacement", "Not more than two threads must be provided at")],
    ),
    "CPUs of its own, memory a limit apart": (
        domain(cpu=PINNED, resources={"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}),
        [(f"{D}.resources.requests.memory", "requests.memory must be equal to")],
    ),
    "NUMA without CPUs of its own": (
        domain(cpu={"numa": {"guestMappingPassthrough": {}}}, memory=HUGE),
        [(f"{D}.cpu.numa.guestMappingPassthrough", "must be set to true when NUMA topology strategy is set in")],
    ),
    "NUMA without huge pages": (
        domain(cpu={**PINNED, "numa": {"guestMappingPassthrough": {}}}),
        [(f"{D}.cpu.numa.guestMappingPassthrough", "must be requested when NUMA topology strategy is set in")],
    ),
    "CPUs of its own beyond all measure": (
        domain(cpu=PINNED, resources={"requests": {"cpu": "1e999999999"}}),
        [
            (f"{D}.resources.requests.cpu", "'1e999999999': must be less than or equal to 4294967295."),
            (f"{D}.cpu.dedicatedCpuPlacement", "1e999999999 CPUs are requested, but the guest has 2 vCPUs"),
        ],
    ),
    "more CPUs than vCPUs can be counted": (
        domain(resources={"requests": {"cpu": "1k"}, "limits": {"cpu": "4294967296"}}),
        [(f"{D}.resources.limits.cpu", "'4294967296': must be less than or equal to 4294967295.")],
    ),
    "half a CPU of its own": (
        domain(cpu=PINNED, resources={"requests": {"cpu": "1500m"}}),
        [
            (
                f"{D}.resources.requests.cpu",
                "provided resources CPU requests must be an integer when DedicatedCPUPlacement is true",
            )
        ],
    ),
    "CPUs of its own, a limit apart": (
        domain(cpu=PINNED, resources={"requests": {"cpu": "2"}, "limits": {"cpu": "3"}}),
        [(f"{D}.cpu.dedicatedCpuPlacement", "must be equal when DedicatedCPUPlacement is true")],
    ),
    "CPUs of its own, another number": (
        domain(cpu=PINNED, resources={"limits": {"cpu": "3"}}),
        [(f"{D}.cpu.dedicatedCpuPlacement", "must not be provided at the same time with")],
    ),
    "a request above its limit": (
        domain(resources={"requests": {"cpu": "3"}, "limits": {"cpu": "2"}}),
        [(f"{D}.resources.requests.cpu", "is greater than")],
    ),
    "a negative request": (
        domain(resources={"requests": {"cpu": "-1"}}),
        [(f"{D}.resources.requests.cpu", "'-1': must be greater than or equal to 0.")],
    ),
}


@pytest.mark.parametrize(("tree", "told"), BROKEN.values(), ids=BROKEN)
def test_violation_is_reported_at_its_field(tree: JsonObject, told: Told) -> None:
    expect(check_guest, tree, told)

"""Live updates of running instances."""

from typing import Any

import pytest
from tests.support.instances import build_vmi

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.model import JsonObject
from virtshape.controllers.vm.liveupdate import LiveChange, decide_live_change, set_hotplug_limits


def build_spec(
    sockets: int = 2, memory: str = "1Gi", *, max_sockets: int | None = 4, max_memory: str | None = "4Gi", **more: Any
) -> VirtualMachineInstanceSpec:
    domain: JsonObject = {
        "cpu": {"sockets": sockets, "cores": 1, "threads": 1, "maxSockets": max_sockets},
        "memory": {"guest": memory, "maxGuest": max_memory},
        "resources": {"requests": {"memory": memory}},
        "devices": {},
    }
    return from_tree({"domain": domain, **more}, VirtualMachineInstanceSpec)


RUNNING = build_spec()
LIVE = {
    "more sockets": (RUNNING, build_spec(4)),
    "more memory": (RUNNING, build_spec(memory="2Gi")),
    "both": (RUNNING, build_spec(3, "4Gi")),
    "more sockets after a paused start": (build_spec(startStrategy="Paused"), build_spec(4)),
}
ROOM_FOR_4 = "the guest was started with room for 4"
NO_ROOM = "the guest was started without room for hotplug"
MORE_SOCKETS = "CPU sockets updated in template spec to a value higher than what's available"
MORE_MEMORY = "memory updated in template spec to a value higher than what's available"
FIELD = "a non-live-updatable field was changed"
RESTART = {
    "fewer sockets": (RUNNING, build_spec(1), "Reduction of CPU socket count requires a restart: 2 to 1"),
    "more sockets than maxSockets": (
        RUNNING,
        build_spec(5),
        f"{MORE_SOCKETS}: 5 sockets wanted, {ROOM_FOR_4}",
    ),
    "more sockets without maxSockets": (
        build_spec(max_sockets=None),
        build_spec(4, max_sockets=None),
        f"{MORE_SOCKETS}: 4 sockets wanted, {NO_ROOM}",
    ),
    "less memory": (RUNNING, build_spec(memory="512Mi"), "Reduction of memory requires a restart: 1Gi to 512Mi"),
    "more memory than maxGuest": (
        RUNNING,
        build_spec(memory="8Gi"),
        f"{MORE_MEMORY}: 8Gi wanted, the guest was started with room for 4Gi",
    ),
    "more memory without maxGuest": (
        build_spec(max_memory=None),
        build_spec(memory="2Gi", max_memory=None),
        f"{MORE_MEMORY}: 2Gi wanted, {NO_ROOM}",
    ),
    "larger maximum": (RUNNING, build_spec(max_sockets=8), f"{FIELD}: spec.domain.cpu.maxSockets"),
    "other field": (
        RUNNING,
        build_spec(4, terminationGracePeriodSeconds=5),
        f"{FIELD}: spec.terminationGracePeriodSeconds",
    ),
    "several": (
        RUNNING,
        build_spec(8, "512Mi"),
        f"{MORE_SOCKETS}: 8 sockets wanted, {ROOM_FOR_4}; Reduction of memory requires a restart: 1Gi to 512Mi",
    ),
}


def run(spec: VirtualMachineInstanceSpec, **annotations: str) -> VirtualMachineInstance:
    return build_vmi("Running", annotations=annotations, **to_tree(spec))


def start(spec: VirtualMachineInstanceSpec, **settings: Any) -> JsonObject:
    """Return the hotplug limits of an instance that is started with this configuration."""
    vmi = set_hotplug_limits(run(spec), from_tree(settings, KubeVirtConfiguration))
    domain, annotations = to_tree(vmi.spec.domain), vmi.metadata.annotations or {}
    limits = {
        "maxSockets": domain["cpu"].get("maxSockets"),
        "maxGuest": domain["memory"].get("maxGuest"),
        **annotations,
    }
    return {name: value for name, value in limits.items() if value is not None}


@pytest.mark.parametrize(("running", "wanted"), LIVE.values(), ids=LIVE.keys())
def test_growth_of_a_running_vm_is_applied_live(
    running: VirtualMachineInstanceSpec, wanted: VirtualMachineInstanceSpec
) -> None:
    change = decide_live_change(run(running), wanted, None)
    assert (change.restart_reason, to_tree(change.spec)) == (
        "",
        {**to_tree(wanted), **({"startStrategy": running.start_strategy} if running.start_strategy else {})},
    )
    assert running == build_spec(startStrategy=running.start_strategy)


@pytest.mark.parametrize(("running", "wanted", "reason"), RESTART.values(), ids=RESTART.keys())
def test_changes_that_cannot_be_applied_live_require_a_restart(
    running: VirtualMachineInstanceSpec, wanted: VirtualMachineInstanceSpec, reason: str
) -> None:
    assert decide_live_change(run(running), wanted, None) == LiveChange(restart_reason=reason)


@pytest.mark.parametrize(("strategy", "reaches"), [("LiveUpdate", True), (None, True), ("Stage", False)])
def test_change_requires_a_restart_only_with_the_rollout_strategy_stage(strategy: str | None, reaches: bool) -> None:
    configuration = KubeVirtConfiguration(vm_rollout_strategy=strategy)
    change = decide_live_change(run(RUNNING), build_spec(4), configuration)
    assert (change.spec is not None) == reaches
    assert reaches or change.restart_reason == "vmRolloutStrategy is Stage"


def test_guest_grows_within_its_limits_and_gets_larger_limits_at_a_restart() -> None:
    change = decide_live_change(run(RUNNING), build_spec(3, max_sockets=16, max_memory="8Gi"), None)
    fields = ("spec.domain.cpu.maxSockets", "spec.domain.memory.maxGuest")
    assert change == LiveChange(build_spec(3), "; ".join(f"{FIELD}: {field}" for field in fields))


def test_unchanged_spec_needs_no_live_change() -> None:
    assert decide_live_change(run(RUNNING), build_spec(), None) == LiveChange()


def test_unset_hotplug_limits_need_no_live_change() -> None:
    """The VM sets no limits, so the instance keeps the limits that it was started with."""
    assert decide_live_change(run(RUNNING), build_spec(max_sockets=None, max_memory=None), None) == LiveChange()


def test_guest_grows_within_the_limits_in_its_annotations() -> None:
    small, large = (build_spec(sockets, memory, max_sockets=None, max_memory=None) for sockets, memory in SIZES)
    vmi = set_hotplug_limits(run(small), None)
    assert decide_live_change(vmi, large, None) == LiveChange(large)


SIZES = ((2, "1Gi"), (8, "4Gi"))
OPEN = build_spec(max_sockets=None, max_memory=None)
LIMITS: dict[str, tuple[VirtualMachineInstanceSpec, JsonObject, JsonObject]] = {
    "four times the size, in annotations": (
        OPEN,
        {},
        {"virtshape.io/max-sockets": "8", "virtshape.io/max-guest": "4Gi"},
    ),
    "fields if live updates are configured": (
        OPEN,
        {"vmRolloutStrategy": "LiveUpdate"},
        {"maxSockets": 8, "maxGuest": "4Gi"},
    ),
    "configured ratio": (
        OPEN,
        {"liveUpdateConfiguration": {"maxHotplugRatio": 2}},
        {"maxSockets": 4, "maxGuest": "2Gi"},
    ),
    "configured maxima": (
        OPEN,
        {"liveUpdateConfiguration": {"maxCpuSockets": 3, "maxGuest": "6Gi"}},
        {"maxSockets": 3, "maxGuest": "6Gi"},
    ),
    "configured maxima below the size": (
        OPEN,
        {"liveUpdateConfiguration": {"maxCpuSockets": 1, "maxGuest": "512Mi"}},
        {},
    ),
    "own maxima": (RUNNING, {"vmRolloutStrategy": "LiveUpdate"}, {"maxSockets": 4, "maxGuest": "4Gi"}),
    "changes at restart only": (OPEN, {"vmRolloutStrategy": "Stage"}, {}),
    "less memory than memory hotplug needs": (
        build_spec(memory="512Mi", max_sockets=None, max_memory=None),
        {},
        {"virtshape.io/max-sockets": "8"},
    ),
    "at most 255 vCPUs": (
        build_spec(100, max_sockets=None, max_memory="1Gi"),
        {},
        {"maxGuest": "1Gi", "virtshape.io/max-sockets": "255"},
    ),
    "another architecture": (
        build_spec(max_sockets=None, max_memory=None, architecture="arm64"),
        {},
        {},
    ),
}


@pytest.mark.parametrize(("spec", "settings", "limits"), LIMITS.values(), ids=LIMITS.keys())
def test_new_instance_gets_hotplug_limits(
    spec: VirtualMachineInstanceSpec, settings: JsonObject, limits: JsonObject
) -> None:
    assert start(spec, **settings) == limits


@pytest.mark.parametrize(
    "domain",
    [
        {"cpu": {"sockets": 2, "dedicatedCpuPlacement": True}},
        {"memory": {"guest": "1Gi", "hugepages": {}}},
        {"cpu": {"sockets": 2}, "memory": {"guest": "1Gi"}, "launchSecurity": {"sev": {}}},
    ],
    ids=["dedicated CPUs", "huge pages", "encrypted memory"],
)
def test_instance_that_cannot_grow_gets_no_hotplug_limits(domain: JsonObject) -> None:
    vmi = set_hotplug_limits(build_vmi(domain=domain), None)
    assert vmi.metadata.annotations is None

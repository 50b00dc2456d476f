"""Live updates of running instances."""

from typing import Any

import pytest

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.model import JsonObject
from virtshape.controllers.vm.liveupdate import find_live_change


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
RESTART = {
    "fewer sockets": (RUNNING, build_spec(1)),
    "more sockets than maxSockets": (RUNNING, build_spec(5)),
    "more sockets without maxSockets": (build_spec(max_sockets=None), build_spec(4, max_sockets=None)),
    "less memory": (RUNNING, build_spec(memory="512Mi")),
    "more memory than maxGuest": (RUNNING, build_spec(memory="8Gi")),
    "more memory without maxGuest": (build_spec(max_memory=None), build_spec(memory="2Gi", max_memory=None)),
    "larger maximum": (RUNNING, build_spec(max_sockets=8)),
    "additional device": (RUNNING, build_spec(4, terminationGracePeriodSeconds=5)),
}


@pytest.mark.parametrize(("running", "wanted"), LIVE.values(), ids=LIVE.keys())
def test_growth_is_applied_live(running: VirtualMachineInstanceSpec, wanted: VirtualMachineInstanceSpec) -> None:
    grown = find_live_change(running, wanted, None)
    assert grown is not None
    assert to_tree(grown) == {
        **to_tree(wanted),
        **({"startStrategy": running.start_strategy} if running.start_strategy else {}),
    }
    assert running == build_spec(startStrategy=running.start_strategy)


@pytest.mark.parametrize(("running", "wanted"), RESTART.values(), ids=RESTART.keys())
def test_other_changes_require_a_restart(
    running: VirtualMachineInstanceSpec, wanted: VirtualMachineInstanceSpec
) -> None:
    assert find_live_change(running, wanted, None) is None


@pytest.mark.parametrize(("strategy", "reaches"), [("LiveUpdate", True), (None, True), ("Stage", False)])
def test_rollout_strategy_stage_requires_a_restart(strategy: str | None, reaches: bool) -> None:
    configuration = KubeVirtConfiguration(vm_rollout_strategy=strategy)
    assert (find_live_change(RUNNING, build_spec(4), configuration) is not None) == reaches

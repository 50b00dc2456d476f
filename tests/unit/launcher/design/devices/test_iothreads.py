"""Number of I/O threads, and the assignment of disks to them."""

from typing import Any

import pytest
from tests.support.devices import design_with

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.devices.devices import Controller
from virtshape.launcher.host import Host
from virtshape.launcher.report import Note


def build_disks(*kinds: str) -> JsonObject:
    """Build a disk for each bus; a disk whose bus is followed by `!` has a dedicated I/O thread."""
    return {
        "disks": [
            {"name": f"d{index}", "disk": {"bus": kind.rstrip("!")}, "dedicatedIOThread": kind.endswith("!") or None}
            for index, kind in enumerate(kinds)
        ]
    }


@pytest.mark.parametrize(
    ("kinds", "domain", "total", "threads"),
    [
        pytest.param(["virtio", "virtio"], {}, 0, [None, None], id="no threads by default"),
        pytest.param(["virtio!"], {}, 1, [1], id="dedicated thread"),
        pytest.param(["virtio!", "virtio"], {}, 2, [2, 1], id="dedicated and shared thread"),
        pytest.param(["virtio!", "sata", "virtio!"], {}, 3, [2, None, 3], id="two dedicated threads"),
        pytest.param(["virtio", "virtio"], {"ioThreadsPolicy": "shared"}, 1, [1, 1], id="shared"),
        pytest.param(
            ["virtio", "virtio!"], {"ioThreadsPolicy": "shared"}, 2, [1, 2], id="shared policy and dedicated thread"
        ),
        pytest.param(["virtio"] * 3, {"ioThreadsPolicy": "auto"}, 2, [1, 2, 1], id="two per vCPU"),
        pytest.param(
            ["virtio"] * 5,
            {"ioThreadsPolicy": "auto", "resources": {"requests": {"cpu": "2"}}},
            4,
            [1, 2, 3, 4, 1],
            id="two per requested CPU",
        ),
        pytest.param(
            ["virtio"] * 2,
            {"ioThreadsPolicy": "auto", "resources": {"limits": {"cpu": "2"}}},
            2,
            [1, 2],
            id="at most one per disk",
        ),
        pytest.param(
            ["virtio"] * 2,
            {"ioThreadsPolicy": "auto", "cpu": {"dedicatedCpuPlacement": True, "isolateEmulatorThread": True}},
            1,
            [1, 1],
            id="one with an isolated emulator thread",
        ),
        pytest.param(
            ["virtio!", "virtio"] * 2,
            {"ioThreadsPolicy": "auto"},
            3,
            [2, 1, 3, 1],
            id="at least one is shared",
        ),
    ],
)
def test_io_threads_are_assigned_to_disks(
    kinds: list[str], domain: JsonObject, total: int, threads: list[int | None]
) -> None:
    design = design_with(build_disks(*kinds), domain=domain)
    assert (design.io_threads, [drive.io_thread for drive in design.devices.disks]) == (total, threads)


@pytest.mark.parametrize(("libvirt", "noted"), [(9_000_000, True), (10_000_000, False)])
def test_io_threads_of_a_pool_are_assigned_round_robin(libvirt: int, noted: bool) -> None:
    domain = {"ioThreadsPolicy": "supplementalPool", "ioThreads": {"supplementalPoolThreadCount": 2}}
    design = design_with(build_disks("virtio", "virtio", "virtio"), domain=domain, host=Host(libvirt=libvirt))
    note = Note("spec.domain.ioThreadsPolicy", "each disk uses one thread of the pool, assigned round-robin")
    assert (design.io_threads, [drive.io_thread for drive in design.devices.disks]) == (2, [1, 2, 1])
    assert design.notes == ((note,) if noted else ())


@pytest.mark.parametrize(
    ("kinds", "domain", "driver"),
    [
        pytest.param(["scsi"], {}, {}, id="none"),
        pytest.param(["scsi!"], {}, {"io_thread": 1, "queues": 3}, id="dedicated thread"),
        pytest.param(["scsi", "scsi"], {"ioThreadsPolicy": "shared"}, {"io_thread": 1, "queues": 3}, id="shared"),
        pytest.param(["virtio"], {"ioThreadsPolicy": "shared"}, {}, id="no SCSI disk"),
    ],
)
def test_scsi_disks_use_the_io_thread_of_their_controller(
    kinds: list[str], domain: JsonObject, driver: dict[str, Any]
) -> None:
    design = design_with(build_disks(*kinds), domain={"cpu": {"cores": 3}, **domain})
    controllers = [controller for controller in design.devices.controllers if controller.kind == "scsi"]
    assert controllers == [Controller(kind="scsi", model="virtio-non-transitional", **driver)]

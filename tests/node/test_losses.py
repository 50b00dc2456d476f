"""Guests after the loss of QEMU, the launcher and kubelet, and when their node is drained."""

import signal

import pytest
from tests.node.guests import GuestNode
from tests.support.kubectl import Kubectl
from tools.node.node import NAME as NODE
from tools.node.node import wait_for

NAME = "steady"
LOSSES = {"QEMU": (NAME, "qemu-system-x86_64"), "launcher": ("second", "virtshape launcher --pod")}


@pytest.fixture(scope="module")
def killed(steady: GuestNode) -> dict[str, str]:
    """The UIDs of two instances: QEMU of one and the launcher of the other were killed at the same time."""
    uids = {name: steady.wait_until_running(name) for name, _ in LOSSES.values()}
    for name, pattern in LOSSES.values():
        steady.kill(pattern, name)
    return uids


@pytest.mark.parametrize("loss", LOSSES)
def test_vm_starts_again_after_its_qemu_or_launcher_is_killed(
    steady: GuestNode, killed: dict[str, str], loss: str
) -> None:
    name, _ = LOSSES[loss]
    steady.wait_until_running(name, other_than=killed[name])
    assert steady.read_shape(name)["memoryMiB"] == 256


def test_guest_is_not_restarted_when_kubelet_is_killed(steady: GuestNode) -> None:
    before = steady.wait_until_running(NAME)
    steady.node.kubelet.stop(signal.SIGKILL)
    steady.node.kubelet.start()
    steady.node.kubelet.wait(steady.node.is_ready)
    wait_for(lambda: steady.virtctl("console", NAME, "--log").status == 0, "kubelet runs no commands in pods")
    assert steady.wait_until_running(NAME) == before


def test_drained_guest_starts_again_on_a_schedulable_node(steady: GuestNode, installed: Kubectl) -> None:
    steady.delete("second", wait=False)
    before = steady.wait_until_running(NAME)
    options = ("--ignore-daemonsets", "--delete-emptydir-data", "--pod-selector=kubevirt.io=virt-launcher", "--force")
    installed("drain", NODE, *options, "--timeout=240s")
    steady.wait_for_status(NAME, "ErrorUnschedulable")
    installed("uncordon", NODE)
    steady.wait_until_running(NAME, other_than=before)

"""Resizing guests in pods with exec."""

from collections.abc import Sequence

import pytest
from tests.unit.controllers.pods.build import build_pod

from virtshape.api.status import StatusError
from virtshape.cluster.guestresize import resize_guest


async def test_resize_runs_the_resize_command_of_the_launcher() -> None:
    commands: list[tuple[str, ...]] = []

    async def run(namespace: str, pod: str, container: str, command: Sequence[str]) -> bytes:
        commands.append((namespace, pod, container, *command))
        return b'{"error":"no room"}\n'

    assert await resize_guest(run, build_pod(), vcpus=3, memory=0) == "no room"
    words = ("python3", "-m", "virtshape.launcher.pod.exec", "resize", "3", "0")
    assert commands == [("default", "virt-launcher-vm1-1", "compute", *words)]


async def test_invalid_answer_is_an_error() -> None:
    async def run(namespace: str, pod: str, container: str, command: Sequence[str]) -> bytes:
        del namespace, pod, container, command
        return b"Traceback"

    with pytest.raises(StatusError, match="the launcher sent an invalid answer"):
        await resize_guest(run, build_pod(), vcpus=3, memory=0)

"""Guests in pods, played on our own server: pods as a kubelet would tell of them, VMs and instances follow."""

from pathlib import Path

import pytest
from tests.podlives import PLAYS, Stage, controlled_pods
from tests.worlds import opened, run

from virtshape.apiserver.shaping import CONTROLLER_USER
from virtshape.serve.inprocess import connect


@pytest.mark.parametrize("play", PLAYS)
def test_a_guest_in_a_pod(play: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened("in-process", tmp_path) as world:
            stage = Stage(world.client, "default")
            await stage.prepare()
            async with controlled_pods(connect(world.system.server, CONTROLLER_USER)):
                await PLAYS[play](stage)

    run(scenario())

"""The fork server, with a test module in place of the launcher."""

import asyncio
import contextlib
import os
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest

from virtshape.launcher.layout import Layout
from virtshape.launcher.node.account import Account
from virtshape.launcher.node.forkserver import ForkServer
from virtshape.launcher.node.gueststate import is_alive

MODULE = """
import os, sys, time
from pathlib import Path

def main(directory):
    print("started by", os.getppid())
    (directory / "born").write_text(f"{os.getsid(0)} {os.getcwd()} {os.readlink('/proc/self/fd/0')}")
    time.sleep(600)

if __name__ == "__main__":
    main(Path(sys.argv[1]))
"""
OWN = Account(os.geteuid(), os.getegid())


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if find_spec("libvirt") is None:
        pytest.skip("libvirt's binding is not installed")
    (tmp_path / "bearing.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    place = tmp_path / "guest"
    place.mkdir()
    return place


async def wait_for_process(directory: Path) -> str:
    async with asyncio.timeout(240):
        while not (directory / "born").exists() or not (directory / "born").read_text():
            await asyncio.sleep(0.01)
    return (directory / "born").read_text()


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


async def test_launcher_process_is_a_fork_in_its_own_session(directory: Path, tmp_path: Path) -> None:
    forkserver = ForkServer("bearing", tmp_path / "forkserver.log")
    forkserver.open()
    layout = Layout(directory)
    pid = await forkserver.start(directory, layout.log, OWN, ())
    assert is_alive(pid, layout)
    assert await wait_for_process(directory) == f"{pid} {directory} /dev/null"
    server = layout.log.read_text().split()[-1]
    assert server != str(os.getpid())
    await forkserver.close()
    assert is_alive(pid, layout)
    end(pid)


async def test_launcher_process_is_spawned_if_the_fork_server_cannot_start(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("virtshape.launcher.node.forkserver.PROCESS_MODULE", "no.such.module")

    forkserver = ForkServer("bearing", tmp_path / "forkserver.log")
    pid = await forkserver.start(directory, Layout(directory).log, OWN, ())
    assert "fork server failed: " in caplog.text
    assert "; starting this launcher process directly, and a new fork server later" in caplog.text
    assert is_alive(pid, Layout(directory))
    assert (await wait_for_process(directory)).startswith(f"{pid} ")
    await forkserver.close()
    end(pid)


async def test_killed_fork_server_is_replaced(directory: Path, tmp_path: Path) -> None:
    forkserver = ForkServer("bearing", tmp_path / "forkserver.log")
    pids = []
    for _ in range(3):
        pids.append(await forkserver.start(directory, Layout(directory).log, OWN, ()))
        await wait_for_process(directory)
        (directory / "born").unlink()
        parent = int(Layout(directory).log.read_text().split()[-1])
        if parent != os.getpid():
            end(parent)
    await forkserver.close()
    assert len(set(pids)) == 3
    for pid in pids:
        end(pid)

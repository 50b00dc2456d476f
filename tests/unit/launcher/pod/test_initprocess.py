"""The init process of a container, tested as a child subreaper."""

import signal
import subprocess
import sys
import textwrap

import pytest

BEGINNING = """
import ctypes, os, signal, sys, time
from pathlib import Path
from virtshape.launcher.pod.initprocess import FORWARDED_SIGNALS, reap_until_exit
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans are given to this process, as to the first one of a container
signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED_SIGNALS)  # as fork_from_init does
attending = os.getpid()
child = os.fork()
if child:
    print(reap_until_exit(child), flush=True)
    os._exit(0)
signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED_SIGNALS)
"""
ORPHAN = """
reading, writing = os.pipe()
if os.fork() == 0:
    orphan = os.fork()
    if orphan:
        os.write(writing, str(orphan).encode())
    os._exit(0)
os.wait()
orphan = os.read(reading, 20).decode()
while Path(f"/proc/{orphan}").exists():
    time.sleep(0.01)
os._exit(7)
"""
DEATH = "os.kill(os.getpid(), signal.SIGKILL)"
SIGNAL = """
signal.signal(signal.SIGTERM, lambda *_: os._exit(5))
while os.getppid() == attending:
    os.kill(attending, signal.SIGTERM)
    time.sleep(0.05)
"""


@pytest.mark.parametrize(
    ("what", "status"),
    [
        pytest.param(ORPHAN, 7, id="orphan is reaped"),
        pytest.param(DEATH, 128 + signal.SIGKILL, id="killed child"),
        pytest.param(SIGNAL, 5, id="signal is forwarded"),
    ],
)
def test_init_process_reaps_orphans_and_returns_the_status_of_its_child(what: str, status: int) -> None:
    program = textwrap.dedent(BEGINNING + what)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=240, start_new_session=True
    )
    assert (ran.stdout, ran.stderr) == (f"{status}\n", "")

"""Guests that outlive their server are found by their processes and stopped through their launchers."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from virtshape.api.codec import encode, object_from_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.launcher.machine.account import choose_account
from virtshape.launcher.machine.places import Places
from virtshape.launcher.order import Order
from virtshape.launcher.report import Report
from virtshape.serve.guests import running
from virtshape.serve.guests.running import count_guests, list_running_guests, name_guests, stop_guests

LAUNCHER = """
import socket, sys, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1] + "/control.sock")
listener.listen()
print("ready", flush=True)
connection, _ = listener.accept()
asked = connection.makefile("rwb")
print(asked.readline().decode(), flush=True)
asked.write(b"{}\\n")
asked.flush()
if sys.argv[2] == "obeys":
    sys.exit(0)
time.sleep(600)
"""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "data", choose_account())


@contextmanager
def run_guest(
    places: Places, name: str, *, behaviour: str = "obeys", grace: int = 7
) -> Iterator[subprocess.Popen[str]]:
    """A process that answers as a launcher does, with the files that one leaves behind."""
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"domain": {"devices": {}}, "terminationGracePeriodSeconds": grace},
    }
    vmi = object_from_tree(tree)
    assert isinstance(vmi, VirtualMachineInstance)
    layout = places.make(name)
    layout.order.write_bytes(encode(Order(vmi=vmi)))
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, str(layout.directory), behaviour], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        layout.report.write_bytes(msgspec.json.encode(Report(state="running", launcher_pid=process.pid)))
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_directory_without_guests_has_none_running(tmp_path: Path) -> None:
    assert list_running_guests(tmp_path) == []
    assert list_running_guests(tmp_path / "missing") == []


def test_only_guests_with_living_processes_run(places: Places) -> None:
    with run_guest(places, "b"), run_guest(places, "a"):
        guests = list_running_guests(places.data)
        assert name_guests(guests) == "default/a, default/b"
        assert count_guests(guests) == "2 guests"
        assert [guest.grace_seconds for guest in guests] == [7, 7]
    assert list_running_guests(places.data) == []


def test_a_guest_is_asked_to_shut_down_within_its_grace_period(places: Places) -> None:
    with run_guest(places, "a", grace=9) as process:
        assert asyncio.run(stop_guests(list_running_guests(places.data))) == []
        assert process.wait(10) == 0
        assert process.stdout is not None
        assert msgspec.json.decode(process.stdout.readline()) == {"ask": "stop", "grace": 9.0}


def test_a_guest_that_does_not_shut_down_is_killed(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "MARGIN_SECONDS", 0.5)
    with run_guest(places, "stubborn", behaviour="ignores", grace=0) as process:
        killed = asyncio.run(stop_guests(list_running_guests(places.data)))
        assert name_guests(killed) == "default/stubborn"
        assert process.wait(10) == -9


def test_of_many_guests_the_first_are_named(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_MOST_NAMED", 1)
    with run_guest(places, "a"), run_guest(places, "b"), run_guest(places, "c"):
        assert name_guests(list_running_guests(places.data)) == "default/a and 2 more"

"""Fake launcher processes for tests of commands without QEMU."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from tests.support.objects import object_from_tree

from virtshape.api.codec import encode
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.launcher.launchrequest import LaunchRequest
from virtshape.launcher.node.directories import GuestDirectories
from virtshape.launcher.report import Report

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


@contextmanager
def run_fake_launcher(
    places: GuestDirectories, name: str, *, behaviour: str = "obeys", grace: int = 7
) -> Iterator[subprocess.Popen[str]]:
    """Run a process that responds like a launcher, in a guest directory with the files that a launcher needs."""
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"domain": {"devices": {}}, "terminationGracePeriodSeconds": grace},
    }
    vmi = object_from_tree(tree)
    assert isinstance(vmi, VirtualMachineInstance)
    layout = places.make(name)
    layout.launch_request.write_bytes(encode(LaunchRequest(vmi=vmi)))
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

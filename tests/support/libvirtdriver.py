"""
Libvirt's QEMU driver without privileges, for tests that ask what it makes of a domain.

It lives in a process of its own, which this file is when it is run: one JSON object a line, in and out.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from virtshape.launcher.guest.connection import configure_driver, open_connection

SCHEMA = Path("/usr/share/libvirt/schemas/domain.rng")
NOBODY = 65534
TIMEOUT = 60
"""Seconds that an answer may take, after which the process is gone."""


class Driver:
    """The driver, to be asked."""

    def __init__(self, process: "subprocess.Popen[str]", directory: Path) -> None:
        self._process = process
        self.directory = directory
        """Where its guests may keep their sockets."""

    def accept(self, xml: str) -> str | None:
        """Have the arguments of QEMU written, which starts nothing; the complaint, if there is one."""
        return self._ask("accept", xml)

    def start(self, xml: str) -> str | None:
        """Start QEMU with all devices, its CPUs halted, and stop it again; the complaint, if there is one."""
        return self._ask("start", xml)

    def _ask(self, verb: Literal["accept", "start"], xml: str) -> str | None:
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps([verb, xml]), file=self._process.stdin, flush=True)
        answer: str | None = json.loads(self._process.stdout.readline())
        return answer


def find_missing() -> str | None:
    """What is missing here to ask libvirt, if anything."""
    if not shutil.which("qemu-system-x86_64"):
        return "there is no QEMU here"
    return None if find_spec("libvirt") else "libvirt's binding is not installed"


@contextmanager
def open_driver() -> Iterator[Driver]:
    """A driver with directories of its own; as nobody where the tests run as root."""
    with tempfile.TemporaryDirectory(prefix="driver-") as name:
        root = Path(name)
        (root / "guests").mkdir()
        if os.geteuid() == 0:
            os.chown(root, NOBODY, NOBODY)
            os.chown(root / "guests", NOBODY, NOBODY)
        # Libvirt reads these when it is loaded, which is before the process gives up its rights.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        environment |= {"HOME": str(root), "LIBVIRT_LOG_OUTPUTS": "4:stderr"}
        with subprocess.Popen(
            [sys.executable, __file__, str(root)],
            text=True,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            yield Driver(process, root / "guests")
            assert process.stdin
            process.stdin.close()


def _answer(libvirt: Any, connection: Any, verb: str, xml: str) -> str | None:
    try:
        if verb == "accept":
            connection.domainXMLToNative("qemu-argv", xml)
        else:
            connection.createXML(xml, libvirt.VIR_DOMAIN_START_PAUSED).destroy()
    except libvirt.libvirtError as error:
        return str(error)
    return None


def _serve(root: Path) -> None:
    libvirt = import_module("libvirt")  # nobody may not be able to read it
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    configure_driver(root)  # the product's own settings: virtlogd may not be installed
    connection = open_connection(root)
    for line in sys.stdin:
        signal.alarm(TIMEOUT)
        verb, xml = json.loads(line)
        sys.stdout.write(json.dumps(_answer(libvirt, connection, verb, xml)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))

"""
Libvirt's QEMU driver without privileges, to check domain XML in tests.

It runs in a separate process (this file as a program) that exchanges one JSON value per line.
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

from virtshape.launcher.guest.libvirtdriver import configure_driver, open_connection

SCHEMA = Path("/usr/share/libvirt/schemas/domain.rng")
NOBODY = 65534
TIMEOUT = 240
"""Seconds until a request times out and the process is killed."""


class Driver:
    """A client of the driver process."""

    def __init__(self, process: "subprocess.Popen[str]", directory: Path) -> None:
        self._process = process
        self.directory = directory
        """The directory for the sockets of guests."""

    def accept(self, xml: str) -> str | None:
        """Convert the domain to QEMU arguments without starting it; return the error, if any."""
        return self._ask("accept", xml)

    def start(self, xml: str) -> str | None:
        """Start QEMU with all devices and halted CPUs, and stop it; return the error, if any."""
        return self._ask("start", xml)

    def _ask(self, verb: Literal["accept", "start"], xml: str) -> str | None:
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps([verb, xml]), file=self._process.stdin, flush=True)
        answer: str | None = json.loads(self._process.stdout.readline())
        return answer


def find_missing() -> str | None:
    """Return the missing requirement, if any."""
    if not shutil.which("qemu-system-x86_64"):
        return "QEMU is not installed"
    return None if find_spec("libvirt") else "libvirt's binding is not installed"


@contextmanager
def open_driver() -> Iterator[Driver]:
    """Open a driver with separate directories; runs as user nobody if the tests run as root."""
    with tempfile.TemporaryDirectory(prefix="driver-") as name:
        root = Path(name)
        (root / "guests").mkdir()
        (root / "guests" / "ignition.json").write_text("{}")  # QEMU reads this file when it starts
        if os.geteuid() == 0:
            os.chown(root, NOBODY, NOBODY)
            os.chown(root / "guests", NOBODY, NOBODY)
        # Libvirt reads these variables when it is loaded, before the process drops its privileges.
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
    libvirt = import_module("libvirt")  # user nobody may not be able to read the module
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    configure_driver(root)  # virtshape's settings, which do not need virtlogd
    connection = open_connection(root)
    for line in sys.stdin:
        signal.alarm(TIMEOUT)
        verb, xml = json.loads(line)
        sys.stdout.write(json.dumps(_answer(libvirt, connection, verb, xml)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))

"""
QEMU guests for tests in a separate data directory: start, observe and send input.

A guest is the demo guest, or one without disks that stays in its firmware.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject
from virtshape.launcher.node.account import choose_account
from virtshape.launcher.node.directories import GuestDirectories
from virtshape.launcher.node.guests import Guests
from virtshape.launcher.node.probing import probe_host
from virtshape.launcher.node.requirements import find_missing_packages
from virtshape.launcher.report import Report
from virtshape.supervise.supervisor import Supervisor

TIMEOUT: Final = 300.0
BOOT_TIMEOUT: Final = 600.0
PROMPT: Final = "demo# "


def build_guest(uid: str, domain: JsonObject | None = None, disk: str = "", **spec: Any) -> VirtualMachineInstance:
    """Build a minimal instance; `disk` is the image of its only disk."""
    devices: JsonObject = {"interfaces": [{"name": "default", "masquerade": {}}]}
    if disk:
        devices["disks"] = [{"name": "root", "disk": {"bus": "virtio"}}]
        spec["volumes"] = [{"name": "root", "containerDisk": {"image": disk}}]
    domain = domain or {}
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "tested", "namespace": "default", "uid": uid},
        "spec": {
            "domain": {
                "machine": {"type": "q35"},
                "memory": {"guest": "128Mi"},
                **domain,
                "devices": {**devices, **domain.get("devices", {})},
            },
            "networks": [{"name": "default", "pod": {}}],
            **spec,
        },
    }
    return from_tree(tree, VirtualMachineInstance)


class GuestHarness:
    """The guests of one data directory and their reports."""

    def __init__(self, places: GuestDirectories, guests: Guests) -> None:
        self.places = places
        self.guests = guests
        self._consoles: dict[str, asyncio.StreamWriter] = {}

    async def start(
        self, domain: JsonObject | None = None, disk: Path | None = None, mounts: JsonObject | None = None, **spec: Any
    ) -> str:
        """Start a guest, wait until it runs or has failed, and return its uid."""
        uid = await self.request_start(domain, disk, mounts, **spec)
        await self.wait(uid, lambda report: report.state != "starting")
        return uid

    async def request_start(
        self, domain: JsonObject | None = None, disk: Path | None = None, mounts: JsonObject | None = None, **spec: Any
    ) -> str:
        """Request the start of a guest and return its uid."""
        uid = str(uuid.uuid4())
        vmi = build_guest(uid, domain, str(disk or ""), **spec)
        await self.guests.start(uid, vmi, {"root": str(disk)} if disk else mounts or {})
        return uid

    async def boot(self, disk: Path, domain: JsonObject | None = None) -> str:
        """Start the demo guest, wait for its prompt, and return its uid."""
        uid = await self.start(domain, disk)
        assert self.report(uid).state == "running", self.report(uid)
        await self.read_until(uid, PROMPT)
        return uid

    def report(self, uid: str) -> Report:
        """Return the latest report."""
        report = self.guests.find(uid)
        assert report is not None
        return report

    async def wait(self, uid: str, holds: Callable[[Report], bool], seconds: float = TIMEOUT) -> Report:
        """Wait until the report satisfies a condition, and return it."""
        async with asyncio.timeout(seconds):
            while not holds(self.report(uid)):
                await asyncio.sleep(0.01)
        return self.report(uid)

    async def wait_for_end(self, uid: str) -> Report:
        """Wait until the guest has stopped, and return its last report."""
        return await self.wait(uid, lambda report: report.final)

    async def read_until(self, uid: str, text: str, times: int = 1) -> str:
        """Wait until the guest has printed a text the given number of times, and return its output."""
        log = self.places.get_layout(uid).directory / "serial0.log"
        async with asyncio.timeout(BOOT_TIMEOUT):
            while (printed := log.read_text(errors="replace")).count(text) < times:
                assert not self.report(uid).final, self.report(uid)
                await asyncio.sleep(0.1)
        return printed

    async def read_shape(self, uid: str) -> JsonObject:
        """Return the JSON line that the demo guest prints about itself."""
        printed = await self.read_until(uid, PROMPT)
        shape: JsonObject = json.loads(next(line for line in printed.splitlines() if line.startswith("{")))
        return shape

    async def type(self, uid: str, line: str) -> None:
        """Type a line to the demo guest's shell."""
        if uid not in self._consoles:
            path = self.places.get_layout(uid).directory / "serial0.sock"
            _, self._consoles[uid] = await asyncio.open_unix_connection(path)
        self._consoles[uid].write(f"{line}\n".encode())
        await self._consoles[uid].drain()

    def close_consoles(self) -> None:
        """Close all consoles when no more input is sent: QEMU drops unread input when a console is closed."""
        for line in self._consoles.values():
            line.close()


def require_qemu() -> None:
    """Skip the test on a machine that cannot run guests."""
    if missing_packages := find_missing_packages():
        pytest.skip(f"guests cannot run: install {', '.join(missing_packages)}")


async def adopt_guests(data: Path) -> GuestHarness:
    """Open the guests of a data directory and adopt running ones."""
    places = GuestDirectories(data, choose_account())
    guests = Guests(places, await probe_host(places), Supervisor())
    guests.adopt()
    return GuestHarness(places, guests)


@asynccontextmanager
async def run_guests(data: Path) -> AsyncIterator[GuestHarness]:
    """Open the guests of a data directory and remove them afterwards."""
    harness = await adopt_guests(data)
    try:
        yield harness
    finally:
        for uid in harness.places.list_guests():
            await harness.guests.remove(uid)
        harness.close_consoles()
        await harness.guests.close()

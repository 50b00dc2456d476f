"""
QEMU runtime of the standalone server.

The launcher is created after the server has started, because probing QEMU takes a while.
"""

import asyncio
import logging
import platform
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.client.protocol import Client
from virtshape.client.transport import Transport
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.storage.mounts import Mounts
from virtshape.controllers.storage.protocol import Storage
from virtshape.launcher.netns.probe import probe_isolation
from virtshape.launcher.node.account import choose_account
from virtshape.launcher.node.directories import GuestDirectories
from virtshape.launcher.node.guests import Guests
from virtshape.launcher.node.probing import probe_host
from virtshape.launcher.report import Report
from virtshape.standalone.guests.files import make_token_issuer
from virtshape.standalone.guests.launcher import QemuLauncher
from virtshape.standalone.guests.node import describe_missing_isolation
from virtshape.standalone.guests.streams import QemuGuestStreams
from virtshape.standalone.storage.containers import FetchedDisks
from virtshape.supervise.supervisor import Supervisor

_log = logging.getLogger(__name__)
_AUTHORITY: Final = ("pki", "ca.crt")


class QemuRuntime:
    """Runs the guests of a data directory."""

    keeps_volumes = True
    unavailable_reason = ""

    def __init__(self, directory: Path, supervisor: Supervisor) -> None:
        self._directory = directory
        self._supervisor = supervisor
        self._directories = GuestDirectories(directory, choose_account())
        self._disks = FetchedDisks(directory, supervisor)
        self.node = platform.node().lower() or "localhost"
        self._guests: Guests | None = None
        self._launcher: QemuLauncher | None = None
        self.streams = QemuGuestStreams(self._require_guests, self._directories)

    def _require_guests(self) -> Guests:
        if self._guests is None:
            message = "the launcher is not running yet: see `virtshape status` and the Ready condition of the node"
            raise StatusError(503, "ServiceUnavailable", message)
        return self._guests

    async def make_launcher(
        self, client: Client, transport: Transport, cache: Cache, storage: Storage | None
    ) -> QemuLauncher:
        """Probe QEMU, adopt running guests, and return a launcher."""
        if storage is None:
            raise RuntimeError("guests need storage")
        probed, isolation = await asyncio.gather(
            probe_host(self._directories), probe_isolation(self._directories.account), return_exceptions=True
        )
        if isinstance(probed, BaseException):
            raise probed
        if isinstance(isolation, BaseException):
            raise isolation
        host = replace(probed, isolation=isolation.isolation, isolation_reason=isolation.reason)
        if isolation.reason:
            _log.warning("guests have no network access except forwarded ports: %s", isolation.reason)
        _log.info("guests run %s", "with KVM" if host.kvm else "emulated: KVM does not work on this machine")
        if missing := describe_missing_isolation(host):
            _log.warning("%s", missing)
        if self._guests is None:
            self._guests = Guests(self._directories, host, self._supervisor)
            self._guests.observe(self._handle_report)
            self._guests.adopt()
        authority = self._directory.joinpath(*_AUTHORITY).read_text()
        mounts = Mounts(client, cache, storage, self._disks, make_token_issuer(transport, authority))

        def find_vm(namespace: str, name: str) -> str | None:
            vm = cache.find(VirtualMachine, name, namespace)
            return vm.metadata.uid if vm is not None else None

        self._launcher = QemuLauncher(self._guests, self._directories, host, self.node, mounts, find_vm)
        return self._launcher

    def _handle_report(self, uid: str, _: Report) -> None:
        """Pass a guest's report to the current launcher; earlier launchers belong to controllers that have stopped."""
        if self._launcher is not None:
            self._launcher.handle_report(uid)

    async def close(self) -> None:
        """Disconnect from the guests, which keep running."""
        await self._disks.close()
        if self._guests is not None:
            await self._guests.close()

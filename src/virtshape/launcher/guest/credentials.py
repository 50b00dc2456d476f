"""
Keys and passwords, brought into a guest by its agent: when it connects, and again when they have changed.

Tells whether they are in the guest; what they are is told to nobody but the guest.
"""

import hashlib
import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import libvirt

from virtshape.launcher.guest.reports import ReportPublisher
from virtshape.launcher.login import Login

SYNC_SECONDS: Final = 30.0
_log = logging.getLogger(__name__)


class CredentialSync:
    """Keeps what lets people in the same in the guest as it is in the files."""

    def __init__(self, logins: Sequence[Login], domain: Any, reports: ReportPublisher) -> None:
        self._logins = logins
        self._domain = domain
        self._reports = reports
        self._agent_connected = threading.Event()
        self._applied: dict[Login, bytes] = {}
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Bring all of it in, and what changes later; once more for an agent that has connected anew."""
        if not self._logins:
            return
        self._agent_connected.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="logins", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._reports.report.final:
            if self._agent_connected.wait(SYNC_SECONDS):
                self._agent_connected.clear()
                self._applied.clear()
            if self._reports.report.agent:
                self.sync()

    def sync(self) -> None:
        """Have the guest know what it does not know yet, and tell whether it does."""
        problems = [problem for login in self._logins if (problem := self._sync_secret(login))]
        self._reports.publish(logins="; ".join(problems))

    def _sync_secret(self, login: Login) -> str:
        try:
            files = _read(Path(login.directory))
            fingerprint = _fingerprint(files)
            if self._applied.get(login) != fingerprint:
                self._apply(login, files)
                self._applied[login] = fingerprint
        except (OSError, UnicodeDecodeError) as error:
            return f"a secret cannot be read: {error}"
        except libvirt.libvirtError as error:
            _log.info("keys or passwords are not in the guest: %s", error)
            return error.get_error_message() or str(error)
        return ""

    def _apply(self, login: Login, files: dict[str, str]) -> None:
        for user in login.users:
            lines = [line.strip() for text in files.values() for line in text.splitlines()]
            keys = [line for line in lines if line and not line.startswith("#")]
            self._domain.authorizedSSHKeysSet(user, keys, libvirt.VIR_DOMAIN_AUTHORIZED_SSH_KEYS_SET_APPEND)
        for user, password in files.items() if not login.users else ():
            self._domain.setUserPassword(user, password, 0)


def _read(directory: Path) -> dict[str, str]:
    """The files of a secret; names that start with two dots are how Kubernetes keeps them up to date."""
    paths = [path for path in sorted(directory.iterdir()) if not path.name.startswith("..")]
    return {path.name: path.read_text() for path in paths}


def _fingerprint(files: dict[str, str]) -> bytes:
    return hashlib.sha256(repr(files).encode()).digest()

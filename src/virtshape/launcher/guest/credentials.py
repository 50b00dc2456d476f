"""
Propagate SSH keys and passwords into a guest through its agent: when the agent connects, and when a secret changes.

Failures are published in the guest's report, without the credentials.
"""

import hashlib
import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import libvirt

from virtshape.launcher.guest.plan import Login
from virtshape.launcher.guest.reportpublisher import ReportPublisher
from virtshape.launcher.threads import start_thread

SYNC_SECONDS: Final = 30.0
_log = logging.getLogger(__name__)


class CredentialSync:
    """Keeps the guest's keys and passwords in sync with the mounted secrets."""

    def __init__(self, logins: Sequence[Login], domain: Any, reports: ReportPublisher) -> None:
        self._logins = logins
        self._domain = domain
        self._reports = reports
        self._agent_connected = threading.Event()
        self._applied: dict[Login, bytes] = {}
        self._is_started = False

    def start(self) -> None:
        """Start syncing, or sync all credentials again after the agent has reconnected."""
        if not self._logins:
            return
        self._agent_connected.set()
        if not self._is_started:
            self._is_started = True
            start_thread(
                self._run, "setting credentials in the guest", field="spec.accessCredentials", notes=self._reports
            )

    def _run(self) -> None:
        while not self._reports.report.final:
            if self._agent_connected.wait(SYNC_SECONDS):
                self._agent_connected.clear()
                self._applied.clear()
            if self._reports.report.agent:
                self.sync()

    def sync(self) -> None:
        """Apply credentials that changed and publish the problems."""
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
            return f"reading a secret failed: {error}"
        except libvirt.libvirtError as error:
            _log.info("setting credentials in the guest failed: %s; retrying in %g s", error, SYNC_SECONDS)
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
    """Return a secret's values by key; skip names that start with two dots, which Kubernetes uses for updates."""
    paths = [path for path in sorted(directory.iterdir()) if not path.name.startswith("..")]
    return {path.name: path.read_text() for path in paths}


def _fingerprint(files: dict[str, str]) -> bytes:
    return hashlib.sha256(repr(files).encode()).digest()

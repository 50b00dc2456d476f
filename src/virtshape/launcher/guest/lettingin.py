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

from virtshape.launcher.guest.board import Board
from virtshape.launcher.login import Login

RECHECK_SECONDS: Final = 30.0
_log = logging.getLogger(__name__)


class LettingIn:
    """Keeps what lets people in the same in the guest as it is in the files."""

    def __init__(self, logins: Sequence[Login], domain: Any, board: Board) -> None:
        self._logins = logins
        self._domain = domain
        self._board = board
        self._wanted = threading.Event()
        self._done: dict[Login, bytes] = {}
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Bring all of it in, and what changes later; once more for an agent that has connected anew."""
        if not self._logins:
            return
        self._wanted.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="logins", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while not self._board.report.final:
            if self._wanted.wait(RECHECK_SECONDS):
                self._wanted.clear()
                self._done.clear()
            if self._board.report.agent:
                self.bring_in()

    def bring_in(self) -> None:
        """Have the guest know what it does not know yet, and tell whether it does."""
        troubles = [words for login in self._logins if (words := self._try(login))]
        self._board.post(logins="; ".join(troubles))

    def _try(self, login: Login) -> str:
        try:
            files = _read(Path(login.directory))
            mark = _fingerprint(files)
            if self._done.get(login) != mark:
                self._bring(login, files)
                self._done[login] = mark
        except (OSError, UnicodeDecodeError) as error:
            return f"a secret cannot be read: {error}"
        except libvirt.libvirtError as error:
            _log.info("keys or passwords are not in the guest: %s", error)
            return error.get_error_message() or str(error)
        return ""

    def _bring(self, login: Login, files: dict[str, str]) -> None:
        for user in login.users:
            lines = [line.strip() for text in files.values() for line in text.splitlines()]
            keys = [line for line in lines if line and not line.startswith("#")]
            self._domain.authorizedSSHKeysSet(user, keys, libvirt.VIR_DOMAIN_AUTHORIZED_SSH_KEYS_SET_APPEND)
        for user, password in files.items() if not login.users else ():
            self._domain.setUserPassword(user, password, 0)


def _read(directory: Path) -> dict[str, str]:
    """The files of a secret; names that begin with two dots are how Kubernetes keeps them up to date."""
    paths = [path for path in sorted(directory.iterdir()) if not path.name.startswith("..")]
    return {path.name: path.read_text() for path in paths}


def _fingerprint(files: dict[str, str]) -> bytes:
    return hashlib.sha256(repr(files).encode()).digest()

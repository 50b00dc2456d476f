"""SSH keys and passwords are set in the guest at its start and whenever they change."""

import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from virtshape.launcher.guest.plan import Login
from virtshape.launcher.guest.reportpublisher import ReportPublisher
from virtshape.launcher.report import Report

SOON = 240.0
APPEND = 1
SYNC_THREAD = "setting credentials in the guest"


@pytest.fixture(autouse=True)
def _needs_libvirt() -> None:
    if find_spec("libvirt") is None:
        pytest.skip("libvirt's binding is not installed: see the extra guests")


class Domain:
    """A domain whose agent sets credentials, or fails with `error`."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.error = ""

    def authorizedSSHKeysSet(self, user: str, keys: list[str], flags: int) -> None:  # noqa: N802 - libvirt's name
        self._receive((user, keys, flags))

    def setUserPassword(self, user: str, password: str, flags: int) -> None:  # noqa: N802 - libvirt's name
        self._receive((user, password, flags))

    def _receive(self, problem: Any) -> None:
        if self.error:
            import libvirt

            raise libvirt.libvirtError(self.error)
        self.calls.append(problem)


def write(directory: Path, **files: str) -> Login:
    directory.mkdir(exist_ok=True)
    (directory / "..data").mkdir(exist_ok=True)
    for name, content in files.items():
        (directory / name).write_text(content)
    return Login(directory=str(directory))


def build(tmp_path: Path, *logins: Login) -> tuple[Any, Domain, ReportPublisher]:
    from virtshape.launcher.guest.credentials import CredentialSync

    domain, reports = Domain(), ReportPublisher(tmp_path / "report.json", Report(state="running", agent=True))
    return CredentialSync(logins, domain, reports), domain, reports


def test_credential_files_are_read_as_passwords_and_ssh_keys(tmp_path: Path) -> None:
    passwords = write(tmp_path / "passwords", root="hunter2", admin="correct horse")
    keys = Login(directory=write(tmp_path / "keys", one="# mine\nssh-a A\n", two="ssh-b B").directory, users=("u", "v"))
    sync, domain, reports = build(tmp_path, passwords, keys)
    sync.sync()
    assert domain.calls == [
        ("admin", "correct horse", 0),
        ("root", "hunter2", 0),
        ("u", ["ssh-a A", "ssh-b B"], APPEND),
        ("v", ["ssh-a A", "ssh-b B"], APPEND),
    ]
    assert reports.report.logins == ""
    assert "hunter2" not in (tmp_path / "report.json").read_text()


def test_only_changed_credentials_are_set_again(tmp_path: Path) -> None:
    sync, domain, _ = build(tmp_path, write(tmp_path / "a", x="1"), write(tmp_path / "b", y="1"))
    sync.sync()
    write(tmp_path / "b", y="2")
    sync.sync()
    assert domain.calls == [("x", "1", 0), ("y", "1", 0), ("y", "2", 0)]


def test_failed_agent_request_is_reported_and_retried(tmp_path: Path) -> None:
    sync, domain, reports = build(tmp_path, write(tmp_path / "a", x="1"))
    domain.error = "there is no user x"
    sync.sync()
    assert reports.report.logins == "there is no user x"
    domain.error = ""
    sync.sync()
    assert (reports.report.logins, domain.calls) == ("", [("x", "1", 0)])


def test_missing_credential_secret_is_reported(tmp_path: Path) -> None:
    sync, _, reports = build(tmp_path, Login(directory=str(tmp_path / "gone")))
    sync.sync()
    assert "reading a secret failed: " in (reports.report.logins or "")


def test_credential_sync_starts_with_the_agent_and_stops_with_the_guest(tmp_path: Path) -> None:
    sync, domain, reports = build(tmp_path, write(tmp_path / "a", x="1"))
    sync.start()
    assert reports.wait_for(lambda report: report.logins == "", SOON)
    assert domain.calls == [("x", "1", 0)]
    reports.publish(state="succeeded")
    sync.start()
    for thread in threading.enumerate():
        if thread.name == SYNC_THREAD:
            thread.join(SOON)
    assert all(thread.name != SYNC_THREAD for thread in threading.enumerate())


def test_guest_without_credentials_is_not_synced(tmp_path: Path) -> None:
    sync, _, reports = build(tmp_path)
    sync.start()
    assert reports.report.logins is None

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from virtshape.launcher.layout import Layout
from virtshape.launcher.node import gueststate
from virtshape.launcher.node.gueststate import (
    find_launch_request,
    find_qemu,
    find_report,
    is_alive,
    mark_lost,
    read_tail,
)
from virtshape.launcher.report import Report


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


def test_guest_report_is_read_only_from_a_regular_file(layout: Layout, tmp_path: Path) -> None:
    assert find_report(layout) is None
    layout.report.write_bytes(msgspec.json.encode(Report(state="running")))
    assert find_report(layout) == Report(state="running")
    elsewhere = layout.report.rename(tmp_path / "elsewhere")
    layout.report.symlink_to(elsewhere)
    assert find_report(layout) is None
    layout.report.unlink()
    os.mkfifo(layout.report)
    assert find_report(layout) is None
    layout.report.unlink()
    layout.report.write_bytes(b"{")
    assert find_report(layout) is None


def test_invalid_launch_request_is_read_as_none(layout: Layout) -> None:
    assert find_launch_request(layout) is None
    layout.launch_request.write_bytes(b'{"vmi": {}}')
    assert find_launch_request(layout) is None


def test_guest_with_a_dead_launcher_process_fails_with_the_last_log_line(layout: Layout) -> None:
    report = Report(state="running", agent=True, machine="pc-q35-7.2", qemu_pid=7)
    last_line = "the guest's launcher process has ended"
    assert mark_lost(report, layout).message == last_line
    layout.log.write_text("one\nMemoryError\n\n")
    assert mark_lost(report, layout) == Report(
        state="failed", reason="LauncherLost", message=f"{last_line}: MemoryError", machine="pc-q35-7.2", qemu_pid=7
    )


def test_launcher_process_is_alive_only_if_it_belongs_to_the_guest(tmp_path: Path) -> None:
    command = Path("/proc/self/cmdline").read_bytes().split(b"\0")
    assert is_alive(os.getpid(), Layout(Path(command[0].decode())))
    assert not is_alive(os.getpid(), Layout(tmp_path / "another"))
    assert not is_alive(None, Layout(tmp_path))
    ended = os.posix_spawn("/bin/true", ["/bin/true", str(tmp_path)], {})
    os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)
    assert not is_alive(ended, Layout(tmp_path))
    os.waitpid(ended, 0)
    assert not is_alive(ended, Layout(tmp_path))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start processes of other users")
def test_forked_launcher_of_another_user_is_found_without_ptrace_permission(tmp_path: Path) -> None:
    """In a container, root may not read the working directory of another user's process."""
    script = """
import os, sys, time
from pathlib import Path
from virtshape.launcher.layout import Layout
from virtshape.launcher.node import gueststate
from virtshape.launcher.node.process import get_process_name, set_process_name
from virtshape.launcher.node.gueststate import is_alive
directory = Path(os.environ["GUEST"])
set_process_name(get_process_name(directory))
pid = os.fork()
if pid == 0:
    os.setresuid(61107, 61107, 61107)
    time.sleep(60)
set_process_name("other")
while "61107" not in Path(f"/proc/{pid}/status").read_text():
    time.sleep(0.01)
asked = [(pid, directory), (pid, directory / "another"), (os.getpid(), directory)]
print(*(is_alive(process, Layout(place)) for process, place in asked))
os.kill(pid, 9)
"""
    dropped = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    command = [*dropped, sys.executable, "-c", script]
    printed = subprocess.run(
        command, env={**os.environ, "GUEST": str(tmp_path)}, cwd="/", check=True, capture_output=True, text=True
    )
    assert printed.stdout.split() == ["True", "False", "False"]


def test_log_replaced_by_a_symlink_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of the machine")
    (tmp_path / "serial0.log").symlink_to(tmp_path / "secret")
    assert read_tail(tmp_path / "serial0.log") == b""


def test_only_the_end_of_a_large_log_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gueststate, "MAX_LOG_BYTES", 4)
    (tmp_path / "serial0.log").write_text("0123456789")
    assert read_tail(tmp_path / "serial0.log") == b"6789"


def test_missing_guest_log_is_read_as_empty(tmp_path: Path) -> None:
    assert read_tail(tmp_path / "serial0.log") == b""


def test_pid_file_of_libvirts_driver_is_not_used_as_the_pid_file_of_qemu(layout: Layout) -> None:
    driver, qemu = layout.get_pid_file("driver"), layout.get_pid_file("default_web")
    driver.parent.mkdir(parents=True)
    command = [sys.executable, "-c", "import time; time.sleep(600)", str(layout.directory)]
    with subprocess.Popen(command) as launcher, subprocess.Popen(command) as running:
        try:
            driver.write_text(str(launcher.pid))
            assert find_qemu(layout) is None
            qemu.write_text(str(running.pid))
            assert find_qemu(layout) == running.pid
        finally:
            launcher.kill()
            running.kill()

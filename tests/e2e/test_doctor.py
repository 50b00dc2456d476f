"""Problems that `virtshape doctor` and `up` report, and running guests that `up` and `down` count and stop."""

import json
import os
import re
import shutil
import signal
import socket
from pathlib import Path

import pytest
from tests.support.demoguests import Guests, build_guest
from tests.support.launchers import run_fake_launcher
from tests.support.skipping import IMPOSSIBLE
from tests.support.upprocess import System, call_virtshape, wait_until

from virtshape.launcher.images.demo.build import DemoGuest
from virtshape.launcher.node.account import choose_account
from virtshape.launcher.node.directories import GuestDirectories
from virtshape.launcher.node.requirements import BINDING, find_missing_packages


def test_doctor_lists_every_check_and_its_exit_status_shows_whether_guests_can_run(tmp_path: Path) -> None:
    result = call_virtshape("doctor", "--data-dir", tmp_path / "data", "--listen", "127.0.0.1:0", "-o", "json")
    tree = json.loads(result.stdout)
    assert [check["name"] for check in tree["checks"]] == [
        "Python",
        "data directory",
        "disk space",
        "port",
        "kubectl",
        "QEMU",
        "qemu-img",
        "libvirt",
        "libvirt-python",
        "KVM",
        "confinement",
        "network",
        "UEFI",
        "TPM",
    ]
    assert tree["canRunGuests"] is (result.returncode == 0)
    if find_missing_packages():
        assert result.returncode == 1
    table = call_virtshape("doctor", "--data-dir", tmp_path / "data", "--listen", "127.0.0.1:0")
    assert table.returncode == result.returncode
    assert [line.split()[0] for line in table.stdout.splitlines()[: len(tree["checks"])]] == [
        check["status"] for check in tree["checks"]
    ]
    assert not (tmp_path / "data").exists(), "doctor changes nothing"


def test_doctor_without_qemu_prints_one_install_command(tmp_path: Path) -> None:
    result = call_virtshape("doctor", "--data-dir", tmp_path / "data", "--listen", "127.0.0.1:0", PATH=str(tmp_path))
    assert result.returncode == 1
    assert "the emulator is missing (qemu-system-x86)" in result.stdout
    assert sum("apt-get install" in line for line in result.stdout.splitlines()) == 1


def test_doctor_reports_a_port_in_use_and_a_data_directory_accessible_to_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = call_virtshape("doctor", "--data-dir", tmp_path, "--listen", address)
    assert result.returncode == 1
    assert f"cannot listen on {address}: Address already in use" in result.stdout
    assert f"chmod 700 {tmp_path}" in result.stdout


def test_doctor_accepts_the_port_of_a_running_server(data: Path) -> None:
    with System(data) as system:
        result = call_virtshape(
            "doctor", "--data-dir", data, "--listen", system.url.removeprefix("https://"), "-o", "json"
        )
        (port,) = [check for check in json.loads(result.stdout)["checks"] if check["name"] == "port"]
        assert (port["status"], port["message"]) == ("ok", f"virtshape runs (process {system.process.pid})")


def test_up_warns_about_a_data_directory_accessible_to_others(data: Path) -> None:
    data.mkdir(mode=0o755)
    data.chmod(0o755)
    with System(data, "--launcher", "none") as system:
        before, _, _ = system.greeting.partition("virtshape is ready")
        assert f"chmod 700 {data}" in before


def test_up_reports_missing_pasta_before_it_is_ready(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for directory in os.get_exec_path():
        for program in Path(directory).iterdir() if Path(directory).is_dir() else ():
            if program.name != "pasta" and not (programs / program.name).exists():
                (programs / program.name).symlink_to(program)
    monkeypatch.setenv("PATH", str(programs))
    with System(data, "--launcher", "qemu") as system:
        before, _, _ = system.greeting.partition("virtshape is ready")
        assert "guests have no network access except forwarded ports: pasta is missing" in before
        assert re.search(r"apt-get install -y .*\bpasst\b", before)
        assert "No guest can run" not in before or find_missing_packages()


def test_up_reports_a_broken_libvirt_binding_before_it_is_ready(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if BINDING in find_missing_packages():
        pytest.skip("libvirt's Python binding is not installed: run `make` with libvirt-dev")
    (tmp_path / "libvirt.py").write_text("raise ImportError('libvirt.so.0: version LIBVIRT_99 not found')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with System(data, "--launcher", "qemu") as system:
        before, _, _ = system.greeting.partition("virtshape is ready")
        assert before.startswith("No guest can run on this machine; everything else works:\n")
        assert "binding cannot be loaded: ImportError: libvirt.so.0: version LIBVIRT_99 not found\n" in before
        assert re.search(r"uv sync .*--reinstall-package libvirt-python|pip install --force-reinstall", before)


def test_up_fails_with_an_unusable_data_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = call_virtshape("up", "--data-dir", tmp_path / "file" / "data", "--listen", "127.0.0.1:0")
    assert result.returncode == 1
    assert "The server cannot work on this machine:\n" in result.stdout, result
    assert "everything else works" not in result.stdout


def test_down_reports_that_no_guests_are_running(data: Path) -> None:
    with System(data, "--launcher", "simulate"):
        result = call_virtshape("down", "--guests", "--data-dir", data)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "no guests are running"


@pytest.mark.skipif(os.geteuid() != 0, reason=f"{IMPOSSIBLE}only root can give up capabilities")
def test_doctor_warns_if_mount_namespaces_are_not_allowed(tmp_path: Path) -> None:
    setpriv = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
    result = call_virtshape("doctor", "--data-dir", tmp_path / "data", "--listen", "127.0.0.1:0", prefix=setpriv)
    (line,) = [line for line in result.stdout.splitlines() if " confinement " in line]
    assert line.startswith("warning")
    assert "guests run without a mount namespace (unshare the mount namespace: Operation not permitted)" in line


def test_up_and_down_print_the_number_of_running_guests(data: Path) -> None:
    data.mkdir(mode=0o700)
    places = GuestDirectories(data, choose_account())
    with run_fake_launcher(places, "one") as first, run_fake_launcher(places, "two") as second:
        system = System(data, "--launcher", "none")
        found = system.greeting.partition("virtshape is ready")[0]
        assert "Found 2 guests running: default/one, default/two\n" in found
        left = stop_and_read(system)
        assert "2 guests keep running: default/one, default/two\n" in left
        assert f"To stop them: virtshape down --guests --data-dir {data}." in left
        plain = call_virtshape("down", "--data-dir", data)
        assert plain.stdout.startswith(
            f"no server is running in {data}\n2 guests keep running: default/one, default/two\n"
        )
        assert (first.poll(), second.poll()) == (None, None)
        status = call_virtshape("status", "--data-dir", data)
        assert "GUESTS      2 running: default/one, default/two\n" in status.stdout
        shown = json.loads(call_virtshape("status", "--data-dir", data, "-o", "json").stdout)
        assert (shown["guests"], shown["running"]) == (["default/one", "default/two"], False)
        result = call_virtshape("down", "--guests", "--data-dir", data)
        assert result.stdout.splitlines()[1:] == [
            "shutting down 2 guests, for at most 7 seconds: default/one, default/two",
            "stopped 2 guests",
        ]
        assert (first.wait(300), second.wait(300)) == (0, 0)


def stop_and_read(system: System) -> str:
    """Stop a server with SIGINT, and return what it printed after its startup message."""
    system.process.send_signal(signal.SIGINT)
    assert system.process.wait(300) == 0
    assert system.process.stdout is not None
    with system.process.stdout as output:
        return output.read() or ""


def test_guests_run_without_a_server_until_down_stops_them(demo: DemoGuest, tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "images" / "demo").mkdir(mode=0o700, parents=True)
    data.chmod(0o700)
    for path in demo:
        shutil.copy(path, data / "images" / "demo")
    with System(data, "--launcher", "qemu") as system:
        assert "Found" not in system.greeting
        guests = Guests(system)
        guests.create(build_guest("steady", grace=600))
        guests.wait_for_phase("steady", "Running")
        guests.read_shape("steady")  # the guest has booted and reacts to the power button
        left = stop_and_read(system)
        assert "1 guest keeps running: default/steady\n" in left
        assert f"virtshape down --guests --data-dir {data}" in left
    with System(data, "--launcher", "qemu") as system:
        assert "Found 1 guest running: default/steady\n" in system.greeting.partition("virtshape is ready")[0]
        system.stop(signal.SIGKILL)
    with System(data, "--launcher", "qemu") as system:
        assert "Found 1 guest running: default/steady\n" in system.greeting
        plain = call_virtshape("down", "--data-dir", data)
        assert "1 guest keeps running: default/steady\n" in plain.stdout, plain
    result = call_virtshape("down", "--guests", "--data-dir", data)
    assert result.returncode == 0, result.stderr
    assert "shutting down 1 guest, for at most 600 seconds: default/steady\n" in result.stdout
    assert "killed" not in result.stdout
    assert result.stdout.endswith("stopped 1 guest\n")
    wait_until(
        lambda: call_virtshape("down", "--guests", "--data-dir", data).stdout.endswith("no guests are running\n"),
        "the guest still runs",
    )

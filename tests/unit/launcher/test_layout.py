from pathlib import Path

from virtshape.launcher.layout import MAX_SOCKET_PATH_LENGTH, Layout, is_short_enough


def test_all_files_of_a_guest_are_in_its_directory() -> None:
    layout = Layout(Path("/run/guest"))
    names = ("launch_request", "plan", "report", "socket", "log", "libvirt", "cache", "tpm")
    assert {name: str(getattr(layout, name)) for name in names} == {
        "launch_request": "/run/guest/guest.json",
        "plan": "/run/guest/plan.json",
        "report": "/run/guest/report.json",
        "socket": "/run/guest/control.sock",
        "log": "/run/guest/launcher.log",
        "libvirt": "/run/guest/libvirt",
        "cache": "/run/guest/libvirt/cache",
        "tpm": "/run/guest/libvirt/lib/swtpm",
    }
    assert str(layout.get_qemu_log("vm")) == "/run/guest/libvirt/log/qemu/vm.log"
    assert str(layout.get_pid_file("vm")) == "/run/guest/libvirt/run/qemu/vm.pid"


def test_longest_path_of_a_libvirt_socket_limits_the_path_length_of_a_guest_directory() -> None:
    longest = MAX_SOCKET_PATH_LENGTH - len("/libvirt/lib/qemu/domain-1-abcdefghijklmnopqrst/monitor.sock")
    assert is_short_enough(Path("/" + "x" * (longest - 1)))
    assert not is_short_enough(Path("/" + "x" * longest))

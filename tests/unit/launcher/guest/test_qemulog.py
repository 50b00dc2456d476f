from pathlib import Path

import pytest

from virtshape.launcher.guest.qemulog import find_last_message, format_start_error

BEGINNING = """\
2026-01-02 03:04:05.678+0000: starting up libvirt version: 9.0.0, qemu version: 7.2.22, kernel: 6.1, hostname: host
LC_ALL=C \\
/usr/bin/qemu-system-x86_64 \\
-name guest=default_vm,debug-threads=on \\
-msg timestamp=on
"""
TERMINATION = """\
2026-01-02T03:04:06.789012Z qemu-system-x86_64: terminating on signal 15 from pid 7 (<unknown process>)
2026-01-02 03:04:07.890+0000: shutting down, reason=destroyed
"""
ERROR = "2026-01-02T03:04:06.000000Z qemu-system-x86_64: cannot set up guest memory: Cannot allocate memory\n"


@pytest.mark.parametrize(
    ("log", "message"),
    [
        pytest.param(BEGINNING, "", id="no message"),
        pytest.param(BEGINNING + TERMINATION, "", id="terminated"),
        pytest.param(
            BEGINNING + ERROR + TERMINATION,
            "qemu-system-x86_64: cannot set up guest memory: Cannot allocate memory",
            id="error before the termination",
        ),
    ],
)
def test_last_message_of_qemu_is_found(tmp_path: Path, log: str, message: str) -> None:
    path = tmp_path / "vm.log"
    path.write_text(log)
    assert find_last_message(path) == message


def test_missing_qemu_log_has_no_message(tmp_path: Path) -> None:
    assert find_last_message(tmp_path / "vm.log") == ""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(
            "unsupported configuration: no such device\n",
            "unsupported configuration: no such device",
            id="error of libvirt",
        ),
        pytest.param(
            "internal error: process exited while connecting to monitor: 2026-01-02T03:04:06.000000Z"
            ' qemu-system-x86_64: -device {"driver":"virtio-blk-pci","drive":"libvirt-1-format"}: Failed to get "write"'
            " lock\nIs another process using the image [/disk.img]?",
            'QEMU did not start: Failed to get "write" lock; Is another process using the image [/disk.img]?',
            id="QEMU error about an argument",
        ),
        pytest.param(
            "internal error: qemu unexpectedly closed the monitor: 2026-01-02T03:04:06.000000Z qemu-system-x86_64:"
            " cannot set up guest memory 'pc.ram': Cannot allocate memory",
            "QEMU did not start: cannot set up guest memory 'pc.ram': Cannot allocate memory",
            id="QEMU error",
        ),
    ],
)
def test_start_error_has_the_message_of_qemu_or_libvirt(error: str, message: str) -> None:
    assert format_start_error(error) == message

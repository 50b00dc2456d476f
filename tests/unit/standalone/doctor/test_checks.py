"""Checks of the machine: each problem is reported with a fix."""

import re
from pathlib import Path
from typing import Any

import pytest

from virtshape.standalone.doctor.checks import (
    Check,
    can_run_guests,
    check_guests,
    check_host,
    diagnose_machine,
    explain_failures,
    list_fixes,
)
from virtshape.standalone.doctor.facts import BUILD_PACKAGES, Facts

PACKAGES = Path(__file__).parents[4] / "packages.txt"


def find_check(name: str, **facts: Any) -> Check:
    (check,) = [check for check in check_host(Facts(**facts)) if check.name == name]
    return check


def test_machine_with_all_requirements_passes_all_checks() -> None:
    checks = check_host(Facts())
    assert {check.status for check in checks} == {"ok"}
    assert can_run_guests(checks)
    assert explain_failures(checks, Facts()) == ""
    assert list_fixes(checks, Facts()) == []


@pytest.mark.parametrize(
    ("facts", "guests", "summary", "problems"),
    [
        ({}, True, "", []),
        ({"network_obstacle": "pasta is missing"}, True, "", ["network"]),
        ({"network_obstacle": "pasta is missing", "missing_packages": ("qemu-utils",)}, False, "", []),
        (
            {"missing_packages": ("qemu-utils",)},
            True,
            "No guest can run on this machine; everything else works:",
            ["qemu-img"],
        ),
        ({"directory_writable": False}, True, "The server cannot work on this machine:", ["data directory"]),
        (
            {"directory_writable": False, "missing_packages": ("qemu-utils",)},
            True,
            "The server cannot work on this machine:",
            ["data directory", "qemu-img"],
        ),
    ],
    ids=["none", "warning", "no guests wanted", "guests", "server", "server and guests"],
)
def test_doctor_summary_lists_failed_checks(
    facts: dict[str, Any], guests: bool, summary: str, problems: list[str]
) -> None:
    diagnosis = diagnose_machine(Facts(**facts), guests=guests)
    assert (diagnosis.summary, [check.name for check in diagnosis.problems]) == (summary, problems)
    assert bool(diagnosis.fixes) is bool(problems)


PROBLEMS: dict[str, tuple[str, dict[str, Any], str, str, str]] = {
    "old Python": ("Python", {"python": (3, 10, 4)}, "failure", "Python 3.10.4 is too old", "PYTHON=python3.11"),
    "directory of another user": (
        "data directory",
        {"directory_owner": 0},
        "failure",
        "belongs to user 0, not to 1000",
        "sudo chown -R 1000 /var/lib/virtshape",
    ),
    "directory that cannot be written to": (
        "data directory",
        {"directory_writable": False},
        "failure",
        "cannot be written to",
        "chmod u+rwx /var/lib/virtshape",
    ),
    "directory that cannot be created": (
        "data directory",
        {"directory_owner": None, "directory_writable": False},
        "failure",
        "cannot be created",
        "--data-dir",
    ),
    "directory open to others": (
        "data directory",
        {"directory_mode": 0o755},
        "warning",
        "open to other users (mode 0755)",
        "chmod 700 /var/lib/virtshape",
    ),
    "little disk space": ("disk space", {"free_bytes": 1 << 30}, "warning", "1.0 GiB free", "--data-dir"),
    "no disk space": ("disk space", {"free_bytes": 1 << 20}, "failure", "0.0 GiB free", "--data-dir"),
    "port in use": (
        "port",
        {"port_error": "Address already in use"},
        "failure",
        "cannot listen on 127.0.0.1:6443: Address already in use",
        "virtshape up --listen 127.0.0.1:0",
    ),
    "no kubectl": (
        "kubectl",
        {"kubectl": None},
        "warning",
        "kubectl is not installed",
        "sudo apt-get install -y kubernetes-client",
    ),
    "no QEMU": (
        "QEMU",
        {"missing_packages": ("qemu-system-x86",)},
        "failure",
        "the emulator is missing",
        "sudo apt-get install -y qemu-system-x86",
    ),
    "no QEMU, as root": (
        "QEMU",
        {"missing_packages": ("qemu-system-x86",), "user": 0, "directory_owner": 0},
        "failure",
        "the emulator is missing",
        "apt-get install -y qemu-system-x86",
    ),
    "no qemu-img": ("qemu-img", {"missing_packages": ("qemu-utils",)}, "failure", "disk tool is missing", "qemu-utils"),
    "no libvirt driver": (
        "libvirt",
        {"missing_packages": ("libvirt-daemon-driver-qemu",)},
        "failure",
        "libvirt's QEMU driver is missing",
        "sudo apt-get install -y libvirt-daemon-driver-qemu",
    ),
    "no binding": (
        "libvirt-python",
        {"missing_packages": ("virtshape[guests]",)},
        "failure",
        "libvirt's Python binding is missing",
        "pip install 'virtshape[guests]'",
    ),
    "no binding, in a checkout without headers": (
        "libvirt-python",
        {
            "missing_packages": ("virtshape[guests]",),
            "missing_build_packages": ("libvirt-dev", "gcc"),
            "checkout": "/src",
        },
        "failure",
        "libvirt's Python binding is missing",
        (
            "sudo apt-get install -y libvirt-dev gcc"
            " && /src/.venv/bin/uv sync --project /src --frozen --inexact --extra guests"
        ),
    ),
    "a binding that cannot be loaded": (
        "libvirt-python",
        {"binding_error": "ImportError: libvirt.so.0"},
        "failure",
        "cannot be loaded: ImportError: libvirt.so.0",
        "pip install --force-reinstall --no-cache-dir libvirt-python",
    ),
    "no virtualization": ("KVM", {"kvm": "no CPU support"}, "warning", "ten times slower", "nested virtualization"),
    "no /dev/kvm": ("KVM", {"kvm": "no device"}, "warning", "/dev/kvm does not exist", "sudo modprobe kvm_intel"),
    "/dev/kvm of others": ("KVM", {"kvm": "denied"}, "warning", "user 1000 may not open", "usermod -aG kvm"),
    "no mount namespaces": (
        "confinement",
        {"user": 0, "guest_user": 61107, "mount_obstacle": "Operation not permitted"},
        "warning",
        "guests run without a mount namespace (Operation not permitted)",
        "CAP_SYS_ADMIN",
    ),
    "no UEFI": ("UEFI", {"uefi": False}, "warning", "UEFI firmware is not installed", "sudo apt-get install -y ovmf"),
    "no TPM": ("TPM", {"tpm": False}, "warning", "swtpm is not installed", "sudo apt-get install -y swtpm swtpm-tools"),
}


@pytest.mark.parametrize(("name", "facts", "status", "message", "fix"), PROBLEMS.values(), ids=PROBLEMS)
def test_problem_of_the_machine_is_reported_with_its_fix(
    name: str, facts: dict[str, Any], status: str, message: str, fix: str
) -> None:
    check = find_check(name, **facts)
    assert check.status == status
    assert message in check.message
    assert fix in check.fix
    assert can_run_guests([check]) is (status != "failure")


def test_port_of_a_running_server_passes_the_check() -> None:
    check = find_check("port", server_pid=17, port_error="")
    assert (check.status, check.message) == ("ok", "virtshape runs (process 17)")


def test_doctor_prints_one_command_for_all_missing_packages() -> None:
    facts = Facts(
        missing_packages=("qemu-system-x86", "qemu-utils", "virtshape[guests]"),
        missing_build_packages=("libvirt-dev",),
        checkout="/src",
        uefi=False,
        kvm="no device",
    )
    checks = check_guests(facts)
    assert list_fixes(checks, facts) == [
        (
            "sudo apt-get install -y qemu-system-x86 qemu-utils libvirt-dev ovmf"
            " && /src/.venv/bin/uv sync --project /src --frozen --inexact --extra guests"
        ),
        "sudo modprobe kvm_intel || sudo modprobe kvm_amd",
    ]
    assert explain_failures(checks, facts) == (
        "guests cannot run on this machine: the emulator is missing (qemu-system-x86);"
        " QEMU's disk tool is missing (qemu-utils);"
        " libvirt's Python binding is missing (fix: sudo apt-get install -y qemu-system-x86 qemu-utils libvirt-dev"
        " && /src/.venv/bin/uv sync --project /src --frozen --inexact --extra guests)"
    )


def test_setup_installs_every_package_that_a_doctor_check_names() -> None:
    listed = set(re.sub(r"#.*", "", PACKAGES.read_text()).split())
    lacks = ("qemu-system-x86", "qemu-utils", "libvirt-daemon-driver-qemu", "virtshape[guests]")
    facts = Facts(missing_packages=lacks, missing_build_packages=BUILD_PACKAGES, uefi=False, tpm=False, kubectl=None)
    named = {name for check in check_host(facts) for name in check.packages}
    assert len(named) > 8
    assert named <= listed

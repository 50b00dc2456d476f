"""
Check whether a machine can run the server and guests, and suggest a command that fixes each problem.

The functions only evaluate facts that were collected before. `virtshape doctor` prints all checks; `virtshape up`
prints only checks that found a problem.
"""

import shlex
from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct

from virtshape.launcher.host import Host
from virtshape.launcher.netns.probe import NO_PASTA
from virtshape.launcher.node.requirements import BINDING
from virtshape.standalone.doctor.facts import Facts
from virtshape.standalone.guests.node import describe_missing_isolation

Status = Literal["ok", "warning", "failure"]

MIN_PYTHON: Final = (3, 11)
MIN_FREE_BYTES: Final = 256 << 20
"""Minimum free space, below which the disk overlays of guests cannot be created."""
FEW_FREE_BYTES: Final = 4 << 30
"""Recommended free space, below which the first images may fill the disk."""


class Check(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one check."""

    name: str
    status: Status
    message: str
    fix: str = ""
    """The command that fixes the problem, or what to change if no command can fix it."""
    packages: tuple[str, ...] = ()
    """Debian packages that the fix installs."""
    builds_binding: bool = False
    """Whether the fix builds libvirt's Python binding after installing packages."""


class Diagnosis(Struct, frozen=True):
    """The problems of a machine, and how to fix them."""

    problems: list[Check]
    fixes: list[str]
    summary: str
    """What does not work at all; empty if everything works, even if slowly or with restrictions."""


def check_host(facts: Facts) -> list[Check]:
    """Return all checks in the order in which their problems should be fixed."""
    return [*check_server(facts), *check_guests(facts)]


def check_server(facts: Facts) -> list[Check]:
    """Return the checks for everything that the server requires."""
    return [
        _check_python(facts),
        _check_directory(facts),
        _check_disk_space(facts),
        *([_check_port(facts)] if facts.port is not None else []),
        _check_kubectl(facts),
    ]


def check_guests(facts: Facts) -> list[Check]:
    """Return the checks for everything that guests require in addition."""
    return [
        _check_program(facts, "QEMU", facts.qemu_package, facts.qemu_version, "the emulator"),
        _check_program(facts, "qemu-img", "qemu-utils", None, "QEMU's disk tool"),
        _check_program(facts, "libvirt", "libvirt-daemon-driver-qemu", facts.libvirt_version, "libvirt's QEMU driver"),
        _check_binding(facts),
        _check_kvm(facts),
        _check_confinement(facts),
        _check_network(facts),
        _check_uefi(facts),
        _check_tpm(facts),
    ]


def can_run_guests(checks: Iterable[Check]) -> bool:
    """Return True if no check failed."""
    return not any(check.status == "failure" for check in checks)


def diagnose_machine(facts: Facts, *, guests: bool) -> Diagnosis:
    """Return the problems of a machine that is to run the server, and QEMU guests if `guests` is set."""
    of_server = check_server(facts)
    of_guests = check_guests(facts) if guests else []
    problems = [check for check in (*of_server, *of_guests) if check.status != "ok"]
    summary = ""
    if any(check.status == "failure" for check in of_server):
        summary = "The server cannot work on this machine:"
    elif not can_run_guests(of_guests):
        summary = "No guest can run on this machine; everything else works:"
    return Diagnosis(problems, list_fixes(problems, facts), summary)


def explain_failures(checks: Iterable[Check], facts: Facts) -> str:
    """Return why guests cannot run and how to fix that; empty if guests can run."""
    failed = [check for check in checks if check.status == "failure"]
    reasons = "; ".join(check.message for check in failed)
    return (
        f"guests cannot run on this machine: {reasons} (fix: {'; '.join(list_fixes(failed, facts))})" if failed else ""
    )


def list_fixes(checks: Iterable[Check], facts: Facts) -> list[str]:
    """Return the fixes for checks that are not ok; one command installs all packages and builds the binding."""
    needed = [check for check in checks if check.status != "ok"]
    packages = tuple(dict.fromkeys(name for check in needed for name in check.packages))
    builds = any(check.builds_binding for check in needed)
    together = [_format_setup(facts, packages, builds_binding=builds)] if packages or builds else []
    apart = dict.fromkeys(check.fix for check in needed if not check.packages and not check.builds_binding)
    return [*together, *apart]


def _format_setup(facts: Facts, packages: tuple[str, ...], *, builds_binding: bool = False) -> str:
    """Return the command that installs Debian packages, and builds libvirt's Python binding if requested."""
    steps = [f"{_sudo(facts)}apt-get install -y {' '.join(packages)}"] if packages else []
    if builds_binding and facts.checkout:
        again = " --reinstall-package libvirt-python" if facts.binding_error else ""
        sync = f"{facts.checkout}/.venv/bin/uv sync --project {facts.checkout} --frozen --inexact --extra guests"
        steps.append(sync + again)
    elif builds_binding:
        again = "pip install --force-reinstall --no-cache-dir libvirt-python"
        steps.append(again if facts.binding_error else f"pip install '{BINDING}'")
    return " && ".join(steps)


def _sudo(facts: Facts) -> str:
    return "" if facts.user == 0 else "sudo "


def _check_python(facts: Facts) -> Check:
    version = ".".join(map(str, facts.python))
    if facts.python[:2] >= MIN_PYTHON:
        return Check(name="Python", status="ok", message=version)
    return Check(
        name="Python",
        status="failure",
        message=f"Python {version} is too old: 3.11 or newer is needed",
        fix="make up PYTHON=python3.11",
    )


def _check_directory(facts: Facts) -> Check:
    path = shlex.quote(facts.directory)

    def build(status: Status, message: str, fix: str = "") -> Check:
        return Check(name="data directory", status=status, message=message, fix=fix)

    if facts.directory_owner is None:
        if facts.directory_writable:
            return build("ok", f"{facts.directory} is created at the first start")
        return build("failure", f"{facts.directory} cannot be created", "virtshape up --data-dir DIR")
    if facts.directory_owner != facts.user:
        return build(
            "failure",
            f"{facts.directory} belongs to user {facts.directory_owner}, not to {facts.user}",
            f"sudo chown -R {facts.user} {path}",
        )
    if not facts.directory_writable:
        return build("failure", f"{facts.directory} cannot be written to", f"chmod u+rwx {path}")
    if facts.directory_mode & 0o077:
        return build(
            "warning",
            f"{facts.directory} is open to other users (mode {facts.directory_mode:04o}); it contains keys and disks",
            f"chmod 700 {path}",
        )
    return build("ok", f"only its owner can access {facts.directory}")


def _check_disk_space(facts: Facts) -> Check:
    free = f"{facts.free_bytes / (1 << 30):.1f} GiB free at {facts.directory}"
    status: Status = "ok"
    if facts.free_bytes < FEW_FREE_BYTES:
        status = "failure" if facts.free_bytes < MIN_FREE_BYTES else "warning"
    fix = "" if status == "ok" else "free some space, or choose another disk: virtshape up --data-dir DIR"
    return Check(name="disk space", status=status, message=free, fix=fix)


def _check_port(facts: Facts) -> Check:
    address = f"{facts.host}:{facts.port}"
    if facts.server_pid is not None:
        return Check(name="port", status="ok", message=f"virtshape runs (process {facts.server_pid})")
    if not facts.port_error:
        return Check(name="port", status="ok", message=f"{address} is free")
    return Check(
        name="port",
        status="failure",
        message=f"cannot listen on {address}: {facts.port_error}",
        fix="virtshape up --listen 127.0.0.1:0",
    )


def _check_kubectl(facts: Facts) -> Check:
    if facts.kubectl is not None:
        return Check(name="kubectl", status="ok", message=facts.kubectl or "installed")
    return _miss(
        facts, "kubectl", "warning", "kubectl is not installed; the server works without it", "kubernetes-client"
    )


def _check_program(facts: Facts, name: str, package: str, version: str | None, what: str) -> Check:
    if package not in facts.missing_packages:
        return Check(name=name, status="ok", message=version or "installed")
    return _miss(facts, name, "failure", f"{what} is missing ({package})", package)


def _miss(facts: Facts, name: str, status: Status, message: str, *packages: str) -> Check:
    return Check(name=name, status=status, message=message, fix=_format_setup(facts, packages), packages=packages)


def _check_binding(facts: Facts) -> Check:
    if BINDING not in facts.missing_packages and not facts.binding_error:
        return Check(name="libvirt-python", status="ok", message=facts.binding_version or "installed")
    reason = f"cannot be loaded: {facts.binding_error}" if facts.binding_error else "is missing"
    packages = facts.missing_build_packages
    return Check(
        name="libvirt-python",
        status="failure",
        message=f"libvirt's Python binding {reason}",
        fix=_format_setup(facts, packages, builds_binding=True),
        packages=packages,
        builds_binding=True,
    )


def _check_kvm(facts: Facts) -> Check:
    match facts.kvm:
        case "works":
            return Check(name="KVM", status="ok", message="guests run with KVM")
        case "no CPU support":
            why = "the CPU has no virtualization (vmx or svm)"
            fix = "enable virtualization in the firmware, or nested virtualization on the hypervisor of this machine"
        case "no device":
            why = "/dev/kvm does not exist"
            fix = f"{_sudo(facts)}modprobe kvm_intel || {_sudo(facts)}modprobe kvm_amd"
        case "denied":
            why = f"user {facts.guest_user} may not open /dev/kvm"
            fix = "chgrp kvm /dev/kvm && chmod 660 /dev/kvm" if facts.user == 0 else "sudo usermod -aG kvm $USER"
            fix += "" if facts.user == 0 else " (then log in again)"
    return Check(name="KVM", status="warning", message=f"{why}; guests are emulated, about ten times slower", fix=fix)


def _check_confinement(facts: Facts) -> Check:
    missing = describe_missing_isolation(Host(mount_obstacle=facts.mount_obstacle))
    if missing:
        fix = "run virtshape as a normal user, or with CAP_SYS_ADMIN (docker run --cap-add SYS_ADMIN)"
        return Check(name="confinement", status="warning", message=missing, fix=fix)
    where = " in their own mount namespaces" if facts.guest_user != facts.user else ""
    return Check(name="confinement", status="ok", message=f"guests run as user {facts.guest_user}{where}")


def _check_network(facts: Facts) -> Check:
    if not facts.network_obstacle:
        return Check(
            name="network", status="ok", message="guests have their own network namespaces and access to the internet"
        )
    message = f"guests have no network access except forwarded ports: {facts.network_obstacle}"
    if facts.network_obstacle == NO_PASTA:
        return _miss(facts, "network", "warning", message, "passt")
    return Check(name="network", status="warning", message=message, fix="see the section on networks in docs/guests.md")


def _check_uefi(facts: Facts) -> Check:
    if facts.uefi:
        return Check(name="UEFI", status="ok", message="installed")
    return _miss(facts, "UEFI", "warning", "UEFI firmware is not installed: VMs that need UEFI do not start", "ovmf")


def _check_tpm(facts: Facts) -> Check:
    if facts.tpm:
        return Check(name="TPM", status="ok", message="installed")
    message = "swtpm is not installed: VMs that need a TPM do not start"
    return _miss(facts, "TPM", "warning", message, "swtpm", "swtpm-tools")

"""
Turn a launch request into a plan: prepare volumes, design the domain and render its XML.

Planning runs in a separate process; problems are returned as the report of a guest that cannot start.
"""

import os
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from virtshape.api.codec import decode
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.launcherpod import CREDENTIALS_SUFFIX
from virtshape.api.wellknown import DEFAULT_GRACE_SECONDS
from virtshape.launcher.design.domain import Design, design_domain
from virtshape.launcher.domain.devices.interface import Interface
from virtshape.launcher.domain.domain import render_domain_xml
from virtshape.launcher.guest.plan import Login, Plan
from virtshape.launcher.host import LOOPBACK
from virtshape.launcher.launchrequest import LaunchRequest
from virtshape.launcher.layout import Layout
from virtshape.launcher.report import Refusal, Report
from virtshape.launcher.volumes.prepare import prepare_volumes
from virtshape.launcher.volumes.task import VolumeError

DEFAULT_ADDRESS: Final = "10.0.2.15"
"""The address that QEMU's user-mode networking assigns by default."""


def make_plan(directory: Path) -> Plan | Report:
    """Return the plan for the launch request in this directory, or a report if the guest cannot start."""
    launch_request = decode(Layout(directory).launch_request.read_bytes(), LaunchRequest)
    try:
        sources = prepare_volumes(
            launch_request.vmi, launch_request.mounts, str(directory), host_disk_roots=launch_request.host_disk_roots
        )
    except VolumeError as error:
        return Report(state="failed", reason="VolumesNotReady", message=str(error), refusals=error.problems)
    design = design_domain(
        launch_request.vmi,
        launch_request.host,
        sources,
        str(directory),
        assigned_cpus=launch_request.assigned_cpus,
        state_directory=launch_request.state_directory,
    )
    logins = find_logins(launch_request)
    missing = tuple(one for one in logins if isinstance(one, Refusal))
    if design.refusals or missing:
        return refuse((*design.refusals, *missing))
    if design.domain.devices.tpm is not None and design.domain.devices.tpm.persistent:
        _keep_tpm(Layout(directory), launch_request)
    for path, content in design.files.items():
        write_private_file(Path(path), content)
    plan = plan_domain(launch_request.vmi, design, launch_request.host.port_address)
    return replace(plan, logins=tuple(one for one in logins if isinstance(one, Login)))


def write_private_file(path: Path, content: str) -> None:
    """Write a file that only this user can read."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
        file.write(content)


def find_logins(launch_request: LaunchRequest) -> list[Login | Refusal]:
    """Return the credentials that the guest agent sets, and a refusal for each missing secret."""
    found: list[Login | Refusal] = []
    for index, credential in enumerate(launch_request.vmi.spec.access_credentials or ()):
        keys, passwords = credential.ssh_public_key, credential.user_password
        source = keys or passwords
        way = source.propagation_method.qemu_guest_agent if source is not None else None
        if source is None or way is None:
            continue
        name = source.source.secret.secret_name if source.source.secret is not None else ""
        directory = launch_request.mounts.get(f"{name}{CREDENTIALS_SUFFIX}")
        if directory is None:
            found.append(Refusal(f"spec.accessCredentials[{index}]", f"the secret {name} is missing"))
        else:
            found.append(Login(directory=directory, users=tuple(getattr(way, "users", ()))))
    return found


def refuse(refusals: tuple[Refusal, ...]) -> Report:
    """Return the report of a guest that this host cannot run."""
    message = "; ".join(f"{refusal.field}: {refusal.reason}" for refusal in refusals)
    return Report(state="failed", reason="NotPossibleHere", message=message, refusals=refusals)


def plan_domain(vmi: VirtualMachineInstance, design: Design, port_address: str = LOOPBACK) -> Plan:
    """Return the plan for a domain without refusals."""
    domain, grace = design.domain, vmi.spec.termination_grace_period_seconds
    by_user = [interface for interface in domain.devices.interfaces if interface.kind == "user"]
    return Plan(
        name=domain.name,
        xml=render_domain_xml(domain),
        paused=vmi.spec.start_strategy == "Paused",
        grace=float(DEFAULT_GRACE_SECONDS if grace is None else grace),
        checks=design.checks,
        accelerator="kvm" if domain.type == "kvm" else "tcg",
        notes=design.notes,
        addresses={interface.name: _list_addresses(interface) for interface in by_user},
        netdevs={interface.name: interface.netdev for interface in by_user},
        port_address=port_address,
        forwards={interface.name: interface.forwards for interface in by_user if interface.forwards},
    )


def _keep_tpm(layout: Layout, launch_request: LaunchRequest) -> None:
    """Link libvirt's TPM state to a directory that outlives the instance."""
    if launch_request.state_directory is None or layout.tpm.is_symlink():
        return
    kept = Path(launch_request.state_directory) / "tpm"
    kept.mkdir(mode=0o700, exist_ok=True)
    layout.tpm.parent.mkdir(parents=True, exist_ok=True)
    layout.tpm.symlink_to(kept)


def _list_addresses(interface: Interface) -> tuple[str, ...]:
    return (interface.guest_address or DEFAULT_ADDRESS,)

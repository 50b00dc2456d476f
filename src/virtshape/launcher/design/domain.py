"""
Design a domain from an instance, its host and its disks.

All fields that the host cannot support are refused together; substitutes are noted.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.launcher.design.arguments import design_arguments, restrict_interfaces
from virtshape.launcher.design.clock import design_clock
from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.design.cpu import design_cpu
from virtshape.launcher.design.devices.devices import DeviceDesign, design_devices
from virtshape.launcher.design.features import design_features
from virtshape.launcher.design.launchsecurity import design_security
from virtshape.launcher.design.machinetype import check_architecture, design_machine
from virtshape.launcher.design.memory import design_backing, design_memory
from virtshape.launcher.design.numa import design_numa
from virtshape.launcher.design.os import design_os
from virtshape.launcher.design.probes import design_checks
from virtshape.launcher.design.resources import check_resources
from virtshape.launcher.design.sysinfo import design_metadata, design_name, design_sysinfo, design_uuid
from virtshape.launcher.design.topology import design_topology, design_vcpus, lay_out_vcpus
from virtshape.launcher.design.tuning import design_cpu_tune
from virtshape.launcher.design.unsupported import check_unsupported_fields
from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.domain.domain import Domain
from virtshape.launcher.guest.plan import Checks
from virtshape.launcher.host import Host
from virtshape.launcher.report import Note, Refusal

_REBOOT_POLICIES: Final = ("Reboot", "Terminate")


class Design(Struct, frozen=True, kw_only=True):
    """A domain, and the fields that were refused or substituted."""

    domain: Domain
    """The domain, which must not be started if there are refusals."""
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Note, ...] = ()
    checks: Checks = Checks()
    """Readiness and liveness checks."""
    files: Mapping[str, str] = {}
    """Contents of files to create before the domain starts, by path."""


def design_domain(
    vmi: VirtualMachineInstance,
    host: Host,
    sources: Mapping[str, Source],
    directory: str,
    *,
    assigned_cpus: tuple[int, ...] = (),
    state_directory: str | None = None,
) -> Design:
    """
    Design the domain of an instance.

    `directory` contains the guest's sockets and logs; `state_directory` contains files that outlive the instance.
    `assigned_cpus` are the dedicated CPUs, by default the first CPUs of the host.
    """
    context = DesignContext(vmi=vmi, host=host, sources=sources, directory=directory)
    parts, checks = design_devices(vmi, host, sources, directory), design_checks(context)
    check_unsupported_fields(context)
    domain = _compose(context, parts, assigned_cpus, state_directory)
    # If the architecture differs, only that is reported: the other refusals may not apply on a suitable host.
    elsewhere = check_architecture(vmi, host)
    return Design(
        domain=domain,
        refusals=tuple(elsewhere) or (*context.refusals, *parts.refusals),
        notes=(*context.notes, *parts.notes),
        checks=checks,
        files=context.files,
    )


def _compose(
    context: DesignContext, parts: DeviceDesign, assigned: tuple[int, ...], state_directory: str | None
) -> Domain:
    if not context.host.kvm:
        context.note("spec.domain", "KVM is not available on this host: QEMU emulates the guest's CPUs, which is slow")
    machine, start = design_machine(context), lay_out_vcpus(context.spec.domain)
    topology, memory = design_topology(context, machine), design_memory(context)
    tune = design_cpu_tune(context, start, parts.io_threads, assigned)
    backing = design_backing(context, memory.size, shared=parts.shared_memory)
    numa = design_numa(context, topology, memory, tune, backing)
    uuid, metadata = design_uuid(context), context.vmi.metadata
    check_resources(context, start.vcpus)
    return Domain(
        type="kvm" if context.host.kvm else "qemu",
        name=design_name(context),
        uuid=uuid,
        title=f"{metadata.namespace}/{metadata.name}",
        metadata=design_metadata(context),
        memory=memory,
        backing=numa.backing,
        vcpus=design_vcpus(start, topology),
        iothreads=parts.io_threads,
        cpu_tune=tune,
        numa_tune=numa.tune,
        sysinfo=design_sysinfo(context, uuid),
        os=design_os(context, machine, state_directory),
        features=design_features(context, machine),
        cpu=design_cpu(context, topology, numa.cells),
        clock=design_clock(context),
        on_reboot="destroy" if _ends_at_reboot(context) else "restart",
        devices=parts.devices,
        security=design_security(context),
        arguments=(*design_arguments(context), *restrict_interfaces(parts.devices.interfaces)),
    )


def _ends_at_reboot(context: DesignContext) -> bool:
    policy = context.spec.domain.reboot_policy or "Reboot"
    if policy not in _REBOOT_POLICIES:
        context.refuse(
            "spec.domain.rebootPolicy", f"unsupported value {policy}: use one of {', '.join(_REBOOT_POLICIES)}"
        )
    return policy == "Terminate"

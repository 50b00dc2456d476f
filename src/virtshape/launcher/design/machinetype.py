"""Design the architecture and machine type of a domain."""

import re
from typing import Final

from virtshape.api.architecture import KERNEL_NAMES, Architecture, KernelArchitecture
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.host import Host
from virtshape.launcher.report import Refusal

_USUAL: Final[dict[Architecture, str]] = {"amd64": "q35", "arm64": "virt", "s390x": "s390-ccw-virtio"}


def check_architecture(vmi: VirtualMachineInstance, host: Host) -> list[Refusal]:
    """Return a refusal if this host cannot run guests of the instance's architecture."""
    wanted = vmi.spec.architecture or host.architecture
    if wanted == host.architecture:
        return []
    return [Refusal("spec.architecture", f"this host is {host.architecture} and cannot run {wanted} guests")]


def name_architecture(host: Host) -> KernelArchitecture:
    """Return libvirt's name for the host's architecture."""
    return KERNEL_NAMES[host.architecture]


def design_machine(context: DesignContext) -> str:
    """Return the full, versioned name of the machine type, which does not change when QEMU is upgraded."""
    host, machine = context.host, context.spec.domain.machine
    wanted = (machine.type if machine is not None else None) or _USUAL[host.architecture]
    found = host.machine_aliases.get(wanted, wanted)
    if found not in host.machine_types:
        context.refuse(
            "spec.domain.machine.type", f"QEMU on this host has no machine type {wanted}; it has: {_list_near(host)}"
        )
    return found


def is_q35(machine: str) -> bool:
    """Return True for q35 machine types."""
    return machine == "q35" or machine.startswith("pc-q35-")


def _list_near(host: Host) -> str:
    """List the machine types for an error message; older versions are only counted."""
    known = {*host.machine_types, *host.machine_aliases}
    shown = sorted({*host.machine_aliases, *host.machine_aliases.values()} & known or known, key=_by_version)
    more = len(known) - len(shown)
    return (", ".join(shown) or "none") + (f" and {more} more" if more else "")


def _by_version(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts `pc-q35-2.10` after `pc-q35-2.9`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)]

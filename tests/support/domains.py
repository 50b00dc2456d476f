"""
Instances and hosts for tests of complete domains, and the resulting design.

Domains and fields are plain JSON; an instance has 1Gi of memory and nothing else by default.
"""

from collections.abc import Mapping
from typing import Any

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject
from virtshape.launcher.design.domain import Design, design_domain
from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.host import Firmware, Host, NumaCell

DIRECTORY = "/guest"
STATE = "/state"
UUID = "5d307ca9-b3ef-428c-8861-06e72d69f223"
GIB = 1 << 30

OVMF = "/usr/share/OVMF/OVMF_CODE_4M.fd"
OVMF_SECURE = "/usr/share/OVMF/OVMF_CODE_4M.ms.fd"
VARIABLES = "/usr/share/OVMF/OVMF_VARS_4M.fd"
VARIABLES_SECURE = "/usr/share/OVMF/OVMF_VARS_4M.ms.fd"

EMULATING = Host(
    cpus=tuple(range(72)),
    numa_cells=(NumaCell(0, tuple((cpu, cpu + 36) for cpu in range(36))),),
    memory=1024 * GIB,
    hugepages={"2Mi": 1 << 19, "1Gi": 1 << 10},
    machine_types=frozenset({"pc-q35-6.2", "pc-q35-7.2", "pc-i440fx-7.2"}),
    machine_aliases={"q35": "pc-q35-7.2", "pc": "pc-i440fx-7.2"},
    max_vcpus={"pc-q35-6.2": 288, "pc-q35-7.2": 288, "pc-i440fx-7.2": 255},
    cpu_models=frozenset({"Westmere", "Penryn"}),
    partial_cpu_models=frozenset({"Skylake-Server"}),
    cpu_features=frozenset({"aes", "avx2", "svm"}),
    firmwares=(Firmware(OVMF_SECURE, VARIABLES_SECURE, secure_boot=True), Firmware(OVMF, VARIABLES)),
    tpm=True,
)
"""A large host without KVM."""

ACCELERATED = Host(
    kvm=True,
    cpus=EMULATING.cpus,
    numa_cells=EMULATING.numa_cells,
    memory=EMULATING.memory,
    hugepages=EMULATING.hugepages,
    machine_types=EMULATING.machine_types,
    machine_aliases=EMULATING.machine_aliases,
    max_vcpus=EMULATING.max_vcpus,
    cpu_models=frozenset({"Westmere", "Skylake-Server"}),
    partial_cpu_models=frozenset({"EPYC"}),
    firmwares=EMULATING.firmwares,
    tpm=True,
    tap=True,
    vhost_net=True,
    bridges={"pod": "br0"},
    realtime=True,
    locked_memory=True,
    sev=True,
    sev_es=True,
)
"""A host like EMULATING, but with KVM and all features that need KVM."""


def build_guest(
    domain: JsonObject | None = None,
    *,
    annotations: dict[str, str] | None = None,
    status: JsonObject | None = None,
    uid: str | None = None,
    **spec: Any,
) -> VirtualMachineInstance:
    """Build an instance with this domain; other keyword arguments are fields of its spec."""
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "guest", "namespace": "default", "annotations": annotations, "uid": uid},
        "spec": {"domain": {"memory": {"guest": "1Gi"}, "devices": {}, **(domain or {})}, **spec},
        "status": status,
    }
    return from_tree(tree, VirtualMachineInstance)


def design_guest(
    domain: JsonObject | None = None,
    *,
    host: Host = ACCELERATED,
    sources: Mapping[str, Source] | None = None,
    assigned_cpus: tuple[int, ...] = (),
    state_directory: str | None = STATE,
    **rest: Any,
) -> Design:
    """Return the design of an instance with this domain."""
    return design_domain(
        build_guest(domain, **rest),
        host,
        sources or {},
        DIRECTORY,
        assigned_cpus=assigned_cpus,
        state_directory=state_directory,
    )


def list_refusals(design: Design) -> dict[str, str]:
    """Return the reason for each refused field, by field path without the common prefix."""
    return {item.field.removeprefix("spec.domain."): item.reason for item in design.refusals}


def list_notes(design: Design) -> dict[str, str]:
    """Return the notes about substitutions, by field path without the common prefix."""
    return {item.field.removeprefix("spec.domain."): item.text for item in design.notes}

"""Checks of a VM against an instance type and a preference, as admission and lint run them."""

from virtshape.admission.dryrun import dry_run_vm
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.engine.expand import Shape
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE


def check_vm(vm: VirtualMachine, shape: Shape, configuration: KubeVirtConfiguration | None = None) -> list[FieldError]:
    """Return everything that prevents the VM from starting with this instance type and preference."""
    dry_run = dry_run_vm(vm, shape, configuration, DEFAULT_ARCHITECTURE)
    return dry_run.conflicts or dry_run.unmet

"""Set the defaults of a VM and check it with an instance type and a preference, as admission and lint do."""

from virtshape.admission.trialexpansion import DryRun, dry_run_vm_in_place
from virtshape.admission.vmdefaults import Mutated, search_defaults
from virtshape.api.codec import duplicate
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.engine.expand import Shape
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE
from virtshape.offline.objects import Objects
from virtshape.resolve.search import run_search


def mutate_vm(vm: VirtualMachine, objects: Objects, old: VirtualMachine | None = None) -> Mutated:
    """Set the defaults of the VM; raise StatusError if its matchers are invalid or cannot be inferred."""
    mutated = run_search(search_defaults(vm, old), objects.find)
    if mutated.references.error is not None:
        raise mutated.references.error
    return mutated


def dry_run_vm(vm: VirtualMachine, shape: Shape, configuration: KubeVirtConfiguration | None = None) -> DryRun:
    """Expand a copy of the VM, and return the result with its conflicts or unmet requirements."""
    return dry_run_vm_in_place(duplicate(vm), shape, configuration, DEFAULT_ARCHITECTURE)


def check_vm(vm: VirtualMachine, shape: Shape, configuration: KubeVirtConfiguration | None = None) -> list[FieldError]:
    """Return everything that prevents the VM from starting with this instance type and preference."""
    dry_run = dry_run_vm(vm, shape, configuration)
    return dry_run.conflicts or dry_run.unmet

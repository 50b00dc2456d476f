"""Rules for a VM outside its guest's spec that do not depend on other objects."""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.checkresult import DEPRECATED
from virtshape.admission.rules.checks import check_value, describe_unsupported
from virtshape.admission.rules.templates import check_templates
from virtshape.admission.rules.vmi import check_labels
from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.kubevirt.virtualmachine import VirtualMachine, VirtualMachineSpec
from virtshape.engine.apply import TEMPLATE_ROOT

VOLUME_STRATEGIES: Final = ("Replacement", "Migration")
RUN_STRATEGIES: Final = ("Always", "Halted", "Manual", "RerunOnFailure", "Once", "WaitAsReceiver")


def check_vm_without_guest(vm: VirtualMachine) -> Iterator[FieldError]:
    """Yield the violations of the VM outside the guest's spec."""
    spec, metadata = vm.spec, vm.spec.template.metadata
    yield from check_run_strategy(spec)
    if spec.update_volumes_strategy:
        yield from check_value("spec", "updateVolumesStrategy", spec.update_volumes_strategy, VOLUME_STRATEGIES)
    if spec.data_volume_templates:
        yield from check_templates(vm)
    if metadata is not None and metadata.labels:
        yield from check_labels(metadata.labels, "spec.template.metadata.labels")
    yield from check_template_spec(vm)


def check_template_spec(vm: VirtualMachine) -> Iterator[FieldError]:
    """Check that the template has a spec; defaulting has already added one if the VM's preference exists."""
    if vm.spec.template.spec is None:
        message = 'missing required field "spec" of the template'
        yield FieldError(TEMPLATE_ROOT, message, VALUE_REQUIRED, rule="missing-field")


def check_run_strategy(spec: VirtualMachineSpec) -> Iterator[FieldError]:
    """Check that exactly one of `running` and `runStrategy` is set and supported; warn that `running` is deprecated."""
    strategy = spec.run_strategy
    if spec.running is not None:
        if strategy is not None:
            message = "Running and RunStrategy are mutually exclusive: remove spec.running"
            yield FieldError("spec.running", message, rule="run-strategy")
        instead = "Always" if spec.running else "Halted"
        message = f"spec.running is deprecated: use spec.runStrategy: {strategy or instead}"
        yield FieldError("spec.running", message, rule=DEPRECATED)
    elif strategy is None:
        message = "RunStrategy must be specified: set spec.runStrategy, for example to Always"
        yield FieldError("spec.running", message, rule="run-strategy")
    if strategy is not None and strategy not in RUN_STRATEGIES:
        message = f"Invalid RunStrategy ({strategy}): {describe_unsupported(strategy, RUN_STRATEGIES)}"
        yield FieldError("spec.runStrategy", message, rule="unsupported-value")

"""All rules for a VM that do not need the objects it refers to."""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.rules.checks import check_value
from virtshape.admission.rules.instance import check_instance
from virtshape.admission.rules.labels import check_labels
from virtshape.admission.rules.runstrategy import check_run_strategy
from virtshape.admission.rules.templates import check_templates
from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.conflict import VALUE_REQUIRED

_VOLUME_STRATEGIES: Final = ("Replacement", "Migration")


def check_machine(vm: VirtualMachine) -> Iterator[Violation]:
    """Yield all violations of the VM."""
    yield from check_machine_without_guest(vm)
    if vm.spec.template.spec is not None:
        yield from check_instance(vm.spec.template.spec, TEMPLATE_ROOT)


def check_machine_without_guest(vm: VirtualMachine) -> Iterator[Violation]:
    """Yield the violations of the VM outside the guest's spec."""
    spec, metadata = vm.spec, vm.spec.template.metadata
    yield from check_run_strategy(spec)
    if spec.update_volumes_strategy:
        yield from check_value("spec", "updateVolumesStrategy", spec.update_volumes_strategy, _VOLUME_STRATEGIES)
    if spec.data_volume_templates:
        yield from check_templates(vm)
    if metadata is not None and metadata.labels:
        yield from check_labels(metadata.labels, "spec.template.metadata.labels")
    if spec.template.spec is None:
        message = 'missing required field "spec" of the template'
        yield Violation("missing-field", TEMPLATE_ROOT, message, VALUE_REQUIRED)

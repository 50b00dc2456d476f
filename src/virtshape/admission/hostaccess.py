"""
Host access of a VM: what it may not use, blamed on the field or the instance type that asks for it.

Pure. Admission refuses for it, and lint reports it where a configuration is given.
"""

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.conflict import Conflict
from virtshape.engine.expand import Shape
from virtshape.engine.hostaccess import ExplainHostDisk, check_host_access


def check_vm_host_access(
    vm: VirtualMachine,
    shape: Shape,
    spec: VirtualMachineInstanceSpec,
    configuration: KubeVirtConfiguration | None,
    explain_host_disk: ExplainHostDisk,
) -> list[Conflict]:
    """Return all that the guest of a VM may not use of its host; `spec` is what the VM would start."""
    found = check_host_access(spec, TEMPLATE_ROOT, configuration, explain_host_disk)
    return [_attribute_to_instancetype(conflict, vm, shape) for conflict in found]


def _attribute_to_instancetype(conflict: Conflict, vm: VirtualMachine, shape: Shape) -> Conflict:
    """Name the instance type as the field if it gives what is refused: the VM has no field for that."""
    given = shape.instancetype
    if given is None:
        return conflict
    gifts = (("devices.gpus", given.gpus), ("devices.hostDevices", given.host_devices))
    for name, gift in (*gifts, ("launchSecurity", given.launch_security)):
        if gift and conflict.fields[0].startswith(f"{TEMPLATE_ROOT}.domain.{name}"):
            field = "spec.instancetype" if vm.spec.flavor is None else "spec.flavor"
            return conflict._replace(fields=(field,), message=f"{conflict.message} (domain.{name} comes from {field})")
    return conflict

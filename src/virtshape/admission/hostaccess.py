"""Report the host resources that a VM may not use, with the field or the instance type that requests them."""

from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.engine.apply import TEMPLATE_ROOT
from virtshape.engine.expand import Shape
from virtshape.engine.hostaccess import ExplainHostDisk, check_host_access


def check_vm_host_access(
    vm: VirtualMachine,
    shape: Shape,
    spec: VirtualMachineInstanceSpec,
    configuration: KubeVirtConfiguration | None,
    explain_host_disk: ExplainHostDisk,
) -> list[FieldError]:
    """Return a conflict for each host resource that the guest may not use; `spec` is the expanded instance spec."""
    found = check_host_access(spec, TEMPLATE_ROOT, configuration, explain_host_disk)
    return [_attribute_to_instancetype(conflict, vm, shape) for conflict in found]


def _attribute_to_instancetype(conflict: FieldError, vm: VirtualMachine, shape: Shape) -> FieldError:
    """Return the conflict, whose field is the VM's matcher if the instance type, not the VM, requests the resource."""
    instancetype = shape.instancetype
    if instancetype is None:
        return conflict
    requests = (("devices.gpus", instancetype.gpus), ("devices.hostDevices", instancetype.host_devices))
    for name, requested in (*requests, ("launchSecurity", instancetype.launch_security)):
        if requested and conflict.fields[0].startswith(f"{TEMPLATE_ROOT}.domain.{name}"):
            field = "spec.instancetype" if vm.spec.flavor is None else "spec.flavor"
            return conflict._replace(field=field, message=f"{conflict.message} (domain.{name} comes from {field})")
    return conflict

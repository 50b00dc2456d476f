"""
Requests to attach and detach volumes: apply them to the VM's template, and compare a VM with its running instance.

The functions are pure. The template is authoritative: the running instance follows it, and the next start uses it.
"""

from msgspec.structs import replace

from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachine, VirtualMachineVolumeRequest
from virtshape.engine.volumehotplug import apply_volume_request, follow_volumes, is_volume_request_done


def apply_volume_requests(vm: VirtualMachine) -> VirtualMachine:
    """Return the VM with the requests in its status applied to its template; the same object if nothing changes."""
    spec = vm.spec.template.spec
    pending = [] if spec is None else _list_pending(vm, spec)
    if spec is None or not pending:
        return vm
    for request in pending:
        spec = apply_volume_request(spec, request)
    return replace(vm, spec=replace(vm.spec, template=replace(vm.spec.template, spec=spec)))


def drop_done_volume_requests(vm: VirtualMachine) -> VirtualMachine:
    """Return the VM without the requests that its template satisfies."""
    spec, status = vm.spec.template.spec, vm.status
    if spec is None or status is None or not status.volume_requests:
        return vm
    return replace(vm, status=replace(status, volume_requests=_list_pending(vm, spec) or None))


def _list_pending(vm: VirtualMachine, spec: VirtualMachineInstanceSpec) -> list[VirtualMachineVolumeRequest]:
    requests = (vm.status.volume_requests if vm.status else None) or ()
    return [request for request in requests if not is_volume_request_done(spec, request)]


def predict_volumes(vmi: VirtualMachineInstance, wanted: VirtualMachineInstanceSpec) -> VirtualMachineInstance:
    """Return the instance as it will be once all hotpluggable volumes are attached and detached."""
    without_replaced = follow_volumes(vmi.spec, wanted)
    return replace(vmi, spec=follow_volumes(without_replaced, wanted))


def keep_volumes(spec: VirtualMachineInstanceSpec, running: VirtualMachineInstanceSpec) -> VirtualMachineInstanceSpec:
    """Return the spec with its volumes and disks replaced by those of the running spec."""
    devices = replace(spec.domain.devices, disks=running.domain.devices.disks)
    return replace(spec, volumes=running.volumes, domain=replace(spec.domain, devices=devices))


def describe_volume_change(before: VirtualMachineInstanceSpec, after: VirtualMachineInstanceSpec) -> str:
    """Return a message that lists the added and removed volumes."""
    old, new = ({volume.name for volume in spec.volumes or ()} for spec in (before, after))
    added = [f"attaching volume {name}" for name in sorted(new - old)]
    removed = [f"detaching volume {name}" for name in sorted(old - new)]
    return ", ".join((*added, *removed))

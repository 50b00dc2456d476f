"""
Attach volumes to VMs and VMIs and detach them: decide which change to store.

All functions are pure. A VM gets a request in its status, which the VM controller applies; a VMI without a VM is
changed directly.
"""

from typing import Final

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from virtshape.api.codec import to_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.devices import Disk
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachine, VirtualMachineVolumeRequest
from virtshape.api.kubevirt.volume import (
    AddVolumeOptions,
    HotplugVolumeSource,
    RemoveVolumeOptions,
    Volume,
    is_hotpluggable,
)
from virtshape.api.model import JsonObject
from virtshape.api.ownerreferences import find_controller
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.guestactions import NOT_RUNNING, name_of
from virtshape.apiserver.subresources.startstop import Change, conflict
from virtshape.engine.volumehotplug import apply_volume_request, check_hotplugged_disk, get_claim_name

NOT_ON_CLUSTERS: Final = (
    "volumes cannot be attached to or detached from running VMs on a cluster: Kubernetes cannot add volumes to a"
    " running pod, and virtshape does not create KubeVirt's attachment pods. Change spec.template of the VM and"
    " restart it"
)
_REQUESTS: Final = "Status.volumeRequests"
_MACHINE: Final = "virtualmachine"
_INSTANCE: Final = "virtualmachineinstance"


class AddOptions(Struct, rename="camel"):
    """Options of the action `addvolume`; the name of the disk is that of the volume."""

    name: str = ""
    disk: JsonObject | None = None
    volume_source: HotplugVolumeSource | None = None
    dry_run: list[str] = []


class RemoveOptions(Struct, rename="camel"):
    """Options of the action `removevolume`."""

    name: str = ""
    dry_run: list[str] = []


VOLUME_ACTIONS: Final[dict[str, type[AddOptions] | type[RemoveOptions]]] = {
    "addvolume": AddOptions,
    "removevolume": RemoveOptions,
}


def read_volume_request(options: AddOptions | RemoveOptions) -> VirtualMachineVolumeRequest:
    """Build the volume request from these options; raise StatusError if an option is missing or invalid."""
    if isinstance(options, RemoveOptions):
        if not options.name:
            raise StatusError(400, "BadRequest", "RemoveVolumeOptions requires name to be set")
        removed = RemoveVolumeOptions(options.name, dry_run=options.dry_run or None)
        return VirtualMachineVolumeRequest(remove_volume_options=removed)
    source, disk = options.volume_source, options.disk
    if not options.name:
        raise StatusError(400, "BadRequest", "AddVolumeOptions requires name to be set")
    if disk is None:
        raise StatusError(400, "BadRequest", "AddVolumeOptions requires disk to not be nil")
    if source is None:
        raise StatusError(400, "BadRequest", "AddVolumeOptions requires VolumeSource to not be nil")
    if (source.data_volume is None) == (source.persistent_volume_claim is None):
        message = "AddVolumeOptions requires volumeSource to have either persistentVolumeClaim or dataVolume"
        raise StatusError(400, "BadRequest", message)
    if source.data_volume is not None:
        source = HotplugVolumeSource(data_volume=replace(source.data_volume, hotpluggable=True))
    elif source.persistent_volume_claim is not None:
        claim = replace(source.persistent_volume_claim, hotpluggable=True)
        source = HotplugVolumeSource(persistent_volume_claim=claim)
    added = AddVolumeOptions(options.name, _read_disk(disk, options.name), source, options.dry_run or None)
    return VirtualMachineVolumeRequest(add_volume_options=added)


def _read_disk(tree: JsonObject, name: str) -> Disk:
    try:
        return convert({**tree, "name": name}, Disk)
    except ValidationError as error:
        raise StatusError(400, "BadRequest", f"Can not unmarshal Request body to struct, error: {error}") from None


def request_on_vm(vm: VirtualMachine, request: VirtualMachineVolumeRequest) -> Change:
    """Return the change that adds the request to the VM's status; raise StatusError if the VM does not allow it."""
    name = vm.metadata.name or ""
    template = vm.spec.template.spec
    problem = _check_volumes((template.volumes if template else None) or [], request)
    if problem:
        raise conflict(_MACHINE, name, problem)
    pending = (vm.status.volume_requests if vm.status else None) or []
    problem = _check_pending(pending, request)
    if problem:
        raise conflict(_MACHINE, name, problem)
    _require_valid_disk(request, "AddVolume request", _REQUESTS)
    removed = request.remove_volume_options
    left = [one for one in pending if removed is None or _name(one) != removed.name]
    return Change("status", {"volumeRequests": [to_tree(one) for one in (*left, request)]})


def preview_on_vm(vm: VirtualMachine, request: VirtualMachineVolumeRequest) -> Change | None:
    """Return the change to the VM's template that the request will cause; None if the template has no spec."""
    spec = vm.spec.template.spec
    if spec is None:
        return None
    template = replace(vm.spec.template, spec=apply_volume_request(spec, request))
    return Change("spec", {"template": to_tree(template)})


def request_on_vmi(vmi: VirtualMachineInstance, request: VirtualMachineVolumeRequest) -> Change:
    """Return the change to a VMI that no VM owns; raise StatusError if the VMI does not allow the request."""
    owner = find_controller(vmi.metadata)
    if owner is not None and owner.kind == "VirtualMachine":
        message = (
            f"VMI {vmi.metadata.namespace}/{name_of(vmi)} is owned by a VM:"
            f" use the subresource of the VirtualMachine {owner.name}"
        )
        raise StatusError(400, "BadRequest", message)
    if vmi.status is None or vmi.status.phase != "Running":
        raise conflict(_INSTANCE, name_of(vmi), NOT_RUNNING)
    problem = _check_volumes(vmi.spec.volumes or [], request) or _check_detaching(vmi, request)
    if problem:
        raise conflict(_INSTANCE, name_of(vmi), problem)
    _require_valid_disk(request, "Hotplug configuration", "")
    return _change_spec(apply_volume_request(vmi.spec, request))


def _change_spec(spec: VirtualMachineInstanceSpec) -> Change:
    return Change("spec", {"volumes": to_tree(spec.volumes or []), "domain": to_tree(spec.domain)})


def _check_volumes(volumes: list[Volume], request: VirtualMachineVolumeRequest) -> str:
    """Return why the volumes of a VM or VMI do not allow the request; empty if they do."""
    added, removed = request.add_volume_options, request.remove_volume_options
    if added is not None:
        source = added.volume_source.data_volume or added.volume_source.persistent_volume_claim
        claim = getattr(source, "name", None) or getattr(source, "claim_name", "")
        if any(volume.name == added.name for volume in volumes):
            return f"Unable to add volume [{added.name}] because volume with that name already exists"
        if any(get_claim_name(volume) == claim for volume in volumes):
            return f"Unable to add volume source [{claim}] because it already exists"
        return ""
    name = removed.name if removed is not None else ""
    found = next((volume for volume in volumes if volume.name == name), None)
    if found is None:
        return f"Unable to remove volume [{name}] because it does not exist"
    return "" if is_hotpluggable(found) else f"Unable to remove volume [{name}] because it is not hotpluggable"


def _check_pending(pending: list[VirtualMachineVolumeRequest], request: VirtualMachineVolumeRequest) -> str:
    """Return why earlier requests that are not applied yet do not allow the request; empty if they do."""
    name, is_add = _name(request), request.add_volume_options is not None
    for one in pending:
        if _name(one) != name:
            continue
        if is_add and one.add_volume_options is not None:
            return f"add volume request for volume [{name}] already exists"
        if is_add:
            return (
                f"unable to add volume since a remove volume request for volume [{name}] already exists and is still"
                " being processed"
            )
        if one.remove_volume_options is not None:
            return f"a remove volume request for volume [{name}] already exists and is still being processed"
    return ""


def _check_detaching(vmi: VirtualMachineInstance, request: VirtualMachineVolumeRequest) -> str:
    """Return a message if the guest has not released an earlier volume with this name, else an empty string."""
    added = request.add_volume_options
    known = (vmi.status.volume_status if vmi.status else None) or ()
    if added is None or all(one.name != added.name for one in known):
        return ""
    return f"Unable to add volume [{added.name}] because the guest still uses an earlier volume of that name"


def _require_valid_disk(request: VirtualMachineVolumeRequest, prefix: str, field: str) -> None:
    added = request.add_volume_options
    if added is None:
        return
    problems: list[FieldError] = list(check_hotplugged_disk(added.disk, added.name, prefix, field))
    if problems:
        raise StatusError(422, "Invalid", "; ".join(one.message for one in problems), problems)


def _name(request: VirtualMachineVolumeRequest) -> str:
    options = request.add_volume_options or request.remove_volume_options
    return options.name if options is not None else ""

"""
Volume hotplug: apply volume requests, update the volumes of a running VMI, and check hotplugged disks.

A volume is hotpluggable if its claim or DataVolume source sets `hotpluggable`. All functions are pure.
"""

from collections.abc import Collection, Iterator
from typing import Final

from msgspec.structs import replace

from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.devices import Disk
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachineVolumeRequest
from virtshape.api.kubevirt.volume import AddVolumeOptions, Volume, is_hotpluggable

DISK_BUSES: Final = ("scsi", "virtio")
LUN_BUSES: Final = ("scsi",)
_RULE: Final = "impossible-combination"


def get_claim_name(volume: Volume) -> str:
    """Return the name of a volume's claim, or an empty string; a DataVolume's claim has the same name."""
    if volume.data_volume is not None:
        return volume.data_volume.name
    return volume.persistent_volume_claim.claim_name if volume.persistent_volume_claim is not None else ""


def apply_volume_request(
    spec: VirtualMachineInstanceSpec, request: VirtualMachineVolumeRequest
) -> VirtualMachineInstanceSpec:
    """Return the specification after adding or removing the requested volume and disk; the argument is not modified."""
    if request.add_volume_options is not None:
        return _add_volume(spec, request.add_volume_options)
    if request.remove_volume_options is not None:
        return _remove_volumes(spec, {request.remove_volume_options.name})
    return spec


def is_volume_request_done(spec: VirtualMachineInstanceSpec, request: VirtualMachineVolumeRequest) -> bool:
    """Return True if the specification already has the requested change."""
    names = _list_names(spec)
    if request.add_volume_options is not None:
        return request.add_volume_options.name in names
    return request.remove_volume_options is None or request.remove_volume_options.name not in names


def build_volume(options: AddVolumeOptions) -> Volume:
    """Return the hotpluggable volume that a request adds."""
    source = options.volume_source
    if source.data_volume is not None:
        return Volume(options.name, data_volume=replace(source.data_volume, hotpluggable=True))
    claim = source.persistent_volume_claim
    return Volume(options.name, persistent_volume_claim=replace(claim, hotpluggable=True) if claim else None)


def _add_volume(spec: VirtualMachineInstanceSpec, options: AddVolumeOptions) -> VirtualMachineInstanceSpec:
    if options.name in _list_names(spec):
        return spec
    disk = replace(options.disk, name=options.name)
    return _replace_disks(spec, [*(spec.volumes or ()), build_volume(options)], [*_list_disks(spec), disk])


def _remove_volumes(spec: VirtualMachineInstanceSpec, names: Collection[str]) -> VirtualMachineInstanceSpec:
    volumes = [volume for volume in spec.volumes or () if volume.name not in names]
    return _replace_disks(spec, volumes, [disk for disk in _list_disks(spec) if disk.name not in names])


def follow_volumes(
    running: VirtualMachineInstanceSpec, wanted: VirtualMachineInstanceSpec, detaching: Collection[str] = ()
) -> VirtualMachineInstanceSpec:
    """
    Return the running specification with its hotpluggable volumes replaced by those of the wanted specification.

    If a volume changed, the first call removes the old one. A later call adds the new one, once its name is not in
    `detaching`.
    """
    before = {volume.name: volume for volume in running.volumes or ()}
    after = {volume.name: volume for volume in wanted.volumes or ()}
    disks = {disk.name: disk for disk in _list_disks(wanted)}
    removed = {
        name
        for name, volume in before.items()
        if is_hotpluggable(volume) and (name not in after or _is_replaced(volume, after[name]))
    }
    added = [
        name
        for name, volume in after.items()
        if is_hotpluggable(volume) and name in disks and name not in before and name not in detaching
    ]
    if not removed and not added:
        return running
    kept = _remove_volumes(running, removed)
    volumes = [*(kept.volumes or ()), *(after[name] for name in added)]
    order = {name: index for index, name in enumerate(after)}
    volumes.sort(key=lambda volume: order.get(volume.name, len(order)))
    disk_order = {name: index for index, name in enumerate(disks)}
    new_disks = [*_list_disks(kept), *(disks[name] for name in added)]
    new_disks.sort(key=lambda disk: disk_order.get(disk.name, len(disk_order)))
    return _replace_disks(running, volumes, new_disks)


def _is_replaced(volume: Volume, other: Volume) -> bool:
    return is_hotpluggable(other) and volume != other


def _replace_disks(
    spec: VirtualMachineInstanceSpec, volumes: list[Volume], disks: list[Disk]
) -> VirtualMachineInstanceSpec:
    devices = replace(spec.domain.devices, disks=disks or None)
    return replace(spec, volumes=volumes or None, domain=replace(spec.domain, devices=devices))


def _list_names(spec: VirtualMachineInstanceSpec) -> list[str]:
    return [volume.name for volume in spec.volumes or ()]


def _list_disks(spec: VirtualMachineInstanceSpec) -> list[Disk]:
    return spec.domain.devices.disks or []


def check_hotplugged_disk(disk: Disk, name: str, prefix: str, field: str) -> Iterator[FieldError]:
    """Yield an error for each reason why a hotplugged volume cannot have this disk; messages start with `prefix`."""
    bus = ""
    if disk.disk is not None:
        bus = disk.disk.bus or ""
        if bus not in DISK_BUSES:
            message = f"{prefix} for disk [{name}] requires bus to be 'scsi' or 'virtio'. [{bus}] is not permitted."
            yield FieldError(field, message, rule=_RULE)
    elif disk.lun is not None:
        bus = disk.lun.bus or ""
        if bus not in LUN_BUSES:
            message = f"{prefix} for LUN [{name}] requires bus to be 'scsi'. [{bus}] is not permitted."
            yield FieldError(field, message, rule=_RULE)
    else:
        message = f"{prefix} for [{name}] requires diskDevice of type 'disk' or 'lun' to be used."
        yield FieldError(field, message, rule=_RULE)
    if disk.dedicated_io_thread and bus != "virtio":
        yield FieldError(field, f"{prefix} for [{name}] requires virtio bus for IOThreads.", rule=_RULE)
    if disk.boot_order is not None and disk.boot_order < 1:
        message = f"{prefix} for [{name}] must have a boot order > 0, if supplied"
        yield FieldError(field, message, rule=_RULE)

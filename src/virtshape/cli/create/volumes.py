"""
The volumes of a new VM and their boot order.

Without an explicit boot order a VM boots from its first volume.
"""

from dataclasses import dataclass

from virtshape.api.core.podshared import LocalObjectReference
from virtshape.api.kubevirt.devices import Disk
from virtshape.api.kubevirt.virtualmachine import DataVolumeTemplateSpec
from virtshape.api.kubevirt.volume import (
    ContainerDiskSource,
    HotpluggablePersistentVolumeClaim,
    SysprepSource,
    Volume,
)
from virtshape.cli.create.parameters import Label, ParameterError, parse_parameters, required, split_name
from virtshape.cli.errors import suggest


@dataclass(frozen=True)
class DiskParameters:
    """Parameters of a container disk or an existing claim."""

    src: str = required()
    name: str | None = None
    bootorder: int | None = None


@dataclass(frozen=True)
class SysprepParameters:
    """Parameters of a Windows answer file."""

    src: str = required()
    type: str = "configmap"


class Volumes:
    """Collects volumes; names and boot orders are unique."""

    def __init__(self) -> None:
        self.volumes: list[Volume] = []
        self.templates: list[DataVolumeTemplateSpec] = []
        self.disks: list[Disk] = []

    def add(self, volume: Volume, bootorder: int | None = None, template: DataVolumeTemplateSpec | None = None) -> None:
        """Add a volume with its DataVolume template and boot order."""
        Label(volume.name)
        if any(other.name == volume.name for other in self.volumes):
            raise ParameterError(f'duplicate volume name "{volume.name}"')
        if bootorder == 0:
            raise ParameterError("bootorder must be 1 or greater")
        other = next((disk.name for disk in self.disks if disk.boot_order == bootorder), None)
        if bootorder is not None and other is not None:
            raise ParameterError(f'bootorder {bootorder} is already used by the volume "{other}"')
        self.volumes.append(volume)
        if template is not None:
            self.templates.append(template)
        if bootorder is not None:
            self.disks.append(Disk(name=volume.name, boot_order=bootorder))

    def choose_source(self, wanted: str | None) -> str:
        """Return the name of the volume to infer from: the given one, or the first boot volume."""
        name = wanted or self._first_to_boot()
        volume = next((volume for volume in self.volumes if volume.name == name), None)
        if volume is None:
            near = suggest(name, [volume.name for volume in self.volumes])
            raise ParameterError(f'volume "{name}" not found{near}')
        if not self._can_infer_from(volume):
            raise ParameterError(
                f'cannot infer from the volume "{name}": '
                "must be a PVC, or an import of type pvc, registry, snapshot or ds"
            )
        return name

    def _first_to_boot(self) -> str:
        if self.disks:
            return min(self.disks, key=lambda disk: disk.boot_order or 0).name
        if self.volumes:
            return self.volumes[0].name
        raise ParameterError("no volume to infer from; add one with --volume-import or --volume-pvc")

    def _can_infer_from(self, volume: Volume) -> bool:
        if volume.data_volume is None:
            return volume.persistent_volume_claim is not None
        data = next(template.spec for template in self.templates if volume.name == _name_of(template))
        if data.source is not None:
            return any((data.source.pvc, data.source.registry, data.source.snapshot))
        return data.source_ref is not None


def add_container_disk(volumes: Volumes, text: str, default_name: str) -> None:
    """Add a container disk."""
    parameters = parse_parameters(text, DiskParameters)
    disk = ContainerDiskSource(image=parameters.src)
    volumes.add(Volume(name=parameters.name or default_name, container_disk=disk), parameters.bootorder)


def add_pvc(volumes: Volumes, text: str) -> None:
    """Add a PersistentVolumeClaim in the VM's namespace."""
    parameters = parse_parameters(text, DiskParameters)
    claim = read_local_name(parameters.src, "PVC")
    source = HotpluggablePersistentVolumeClaim(claim_name=claim)
    volumes.add(Volume(name=parameters.name or claim, persistent_volume_claim=source), parameters.bootorder)


def add_sysprep(volumes: Volumes, text: str) -> None:
    """Add the ConfigMap or Secret with the answer file for Windows."""
    parameters = parse_parameters(text, SysprepParameters)
    reference = LocalObjectReference(name=read_local_name(parameters.src, "ConfigMap or Secret"))
    match parameters.type.lower():
        case "configmap" | "":
            source = SysprepSource(config_map=reference)
        case "secret":
            source = SysprepSource(secret=reference)
        case _:
            raise ParameterError(f'type: "{parameters.type}" is neither configmap nor secret')
    volumes.add(Volume(name="sysprepdisk", sysprep=source))


def read_local_name(src: str, kind: str) -> str:
    """Parse the name of an object in the VM's namespace."""
    namespace, name = split_name(src)
    if namespace:
        raise ParameterError(f'src: the {kind} "{name}" must be in the VM\'s namespace; remove "{namespace}/"')
    return name


def _name_of(template: DataVolumeTemplateSpec) -> str | None:
    return template.metadata.name if template.metadata else None

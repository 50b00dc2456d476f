"""
What the design of devices starts from, and the place where it says what cannot be had.

Nothing here decides on a device.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.launcher.host import Host
from virtshape.launcher.note import Note
from virtshape.launcher.refusal import Refusal
from virtshape.launcher.source import Source

DEVICES: Final = "spec.domain.devices"


class DesignContext(Struct, kw_only=True):
    """An instance, the host it shall run on, and what is found out about the two."""

    vmi: VirtualMachineInstance
    host: Host
    sources: Mapping[str, Source]
    """Images that are ready, by the name of their volume."""
    directory: str
    """Where the guest's sockets and logs lie."""
    files: dict[str, str] = field(default_factory=dict)
    """Contents of files that the domain names and that only the guest's user may read, by their paths."""
    refusals: list[Refusal] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    @property
    def spec(self) -> VirtualMachineInstanceSpec:
        """What is asked for."""
        return self.vmi.spec

    @property
    def devices(self) -> Devices:
        """The devices that are asked for."""
        return self.vmi.spec.domain.devices

    @property
    def architecture(self) -> str:
        """The guest's architecture."""
        return self.spec.architecture or self.host.architecture

    @property
    def virtio(self) -> str:
        """The model of virtio devices: which generations of the protocol they speak."""
        if self.architecture == "s390x":  # its devices are not on PCI, where the generations differ
            return "virtio"
        return "virtio-transitional" if self.devices.use_virtio_transitional else "virtio-non-transitional"

    @property
    def iommu(self) -> bool:
        """Whether the host cannot read the guest's memory, so that virtio must not count on it."""
        security = self.spec.domain.launch_security
        if security is None:
            return False
        return security.sev is not None or security.snp is not None or self.architecture == "s390x"

    @property
    def has_screen(self) -> bool:
        """Whether the guest has a graphics card."""
        return self.devices.autoattach_graphics_device is not False

    def refuse(self, field: str, reason: str) -> None:
        """Say that this host cannot honour a field."""
        self.refusals.append(Refusal(field, reason))

    def note(self, field: str, text: str) -> None:
        """Say what stands in for what a field asks for."""
        self.notes.append(Note(field, text))

    def locate(self, name: str) -> str:
        """The path of one of the guest's sockets or logs."""
        return f"{self.directory}/{name}"

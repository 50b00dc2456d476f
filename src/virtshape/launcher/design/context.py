"""
Input of the design functions, and the lists in which they report unsupported and substituted fields.

This module also reads feature states and annotations of an instance, and checks that text is valid in XML.
"""

import re
from collections.abc import Mapping
from typing import Final, Protocol

from msgspec import Struct, field

from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.path import format_path
from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.host import Host
from virtshape.launcher.report import Note, Refusal

DEVICES: Final = "spec.domain.devices"
HOOKS_ANNOTATION: Final = "hooks.kubevirt.io/hookSidecars"
"""Annotation that requests sidecars, which change the domain before it starts."""
IGNITION_ANNOTATION: Final = "kubevirt.io/ignitiondata"
"""Annotation with the Ignition configuration for the first boot of CoreOS."""
MEMFD_ANNOTATION: Final = "kubevirt.io/memfd"
"""Annotation that disables memfd for huge pages if its value is `false`."""

_UNWRITABLE: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class DesignContext(Struct, kw_only=True):
    """An instance, the host it runs on, and the refusals and notes collected so far."""

    vmi: VirtualMachineInstance
    host: Host
    sources: Mapping[str, Source]
    """Prepared images by volume name."""
    directory: str
    """Directory of the guest's sockets and logs."""
    files: dict[str, str] = field(default_factory=dict)
    """Contents, by path, of files that the domain refers to; only the guest's user can read these files."""
    refusals: list[Refusal] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    @property
    def spec(self) -> VirtualMachineInstanceSpec:
        """The instance's spec."""
        return self.vmi.spec

    @property
    def devices(self) -> Devices:
        """The requested devices."""
        return self.vmi.spec.domain.devices

    @property
    def architecture(self) -> str:
        """The guest's architecture."""
        return self.spec.architecture or self.host.architecture

    @property
    def virtio(self) -> str:
        """The model of virtio devices."""
        if self.architecture == "s390x":  # s390x has no PCI, and only PCI distinguishes virtio generations
            return "virtio"
        return "virtio-transitional" if self.devices.use_virtio_transitional else "virtio-non-transitional"

    @property
    def iommu(self) -> bool:
        """Whether virtio devices need an IOMMU, because the host cannot read the guest's memory."""
        security = self.spec.domain.launch_security
        if security is None:
            return False
        return security.sev is not None or security.snp is not None or self.architecture == "s390x"

    @property
    def has_screen(self) -> bool:
        """Whether the guest has a graphics card."""
        return self.devices.autoattach_graphics_device is not False

    def refuse(self, field: str, reason: str) -> None:
        """Report a field that this host cannot support."""
        self.refusals.append(Refusal(field, reason))

    def note(self, field: str, text: str) -> None:
        """Report that the guest does not get exactly what a field requests."""
        self.notes.append(Note(field, text))

    def locate(self, name: str) -> str:
        """Return the path of a file in the guest's directory."""
        return f"{self.directory}/{name}"


class Switch(Protocol):
    """A feature that can be enabled or disabled, such as a FeatureState of the API."""

    @property
    def enabled(self) -> bool | None:
        """Whether the feature is enabled; None counts as enabled."""


def read_switch(switch: Switch | None) -> bool | None:
    """Return True if the feature is enabled, False if it is disabled, None if it is not set."""
    return None if switch is None else switch.enabled is not False


def is_on(switch: Switch | None) -> bool:
    """Return True if the feature is set and not disabled."""
    return read_switch(switch) is True


def find_annotation(context: DesignContext, name: str) -> str | None:
    """Return the value of an instance's annotation, or None if it is not set."""
    return (context.vmi.metadata.annotations or {}).get(name)


def locate_annotation(name: str) -> str:
    """Return the field path of an annotation."""
    return format_path(("metadata", "annotations", name))


def read_text(context: DesignContext, field: str, text: str | None) -> str | None:
    """Return the text if it is valid in XML; otherwise refuse the field and return None."""
    if text is not None and _UNWRITABLE.search(text):
        context.refuse(field, "has characters that are not valid in XML")
        return None
    return text

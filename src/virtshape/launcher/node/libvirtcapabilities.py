"""Parse the XML in which libvirt reports QEMU's capabilities."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping

from msgspec import Struct

from virtshape.api.architecture import KERNEL_NAMES, Architecture
from virtshape.launcher.node.capabilityquery import LibvirtCapabilities


class Capability(Struct, frozen=True, kw_only=True):
    """QEMU's capabilities on this host."""

    kvm: bool = False
    libvirt: int = 0
    qemu: int = 0
    machine_types: frozenset[str] = frozenset()
    machine_aliases: Mapping[str, str] = {}
    max_vcpus: Mapping[str, int] = {}
    cpu_models: frozenset[str] = frozenset()
    partial_cpu_models: frozenset[str] = frozenset()
    cpu_features: frozenset[str] = frozenset()
    video_models: frozenset[str] = frozenset()
    usb_redirection: bool = False
    sev: bool = False
    sev_es: bool = False


def parse_capabilities(found: LibvirtCapabilities, architecture: Architecture) -> Capability:
    """Return the capabilities for guests of an architecture."""
    usual = ET.fromstring(found.domains[0])  # noqa: S314 - libvirt wrote it
    machines = list(_list_machines(found.capabilities, KERNEL_NAMES[architecture]))
    models = list(usual.iterfind("cpu/mode[@name='custom']/model"))
    sev = usual.find("features/sev[@supported='yes']")
    return Capability(
        kvm=found.kvm,
        libvirt=found.libvirt,
        qemu=found.qemu,
        machine_types=frozenset(machine.text or "" for machine in machines),
        machine_aliases={
            machine.text or "": canonical for machine in machines if (canonical := machine.get("canonical"))
        },
        max_vcpus={machine.text or "": int(most) for machine in machines if (most := machine.get("maxCpus"))},
        cpu_models=frozenset(model.text or "" for model in models if model.get("usable") == "yes"),
        partial_cpu_models=frozenset(model.text or "" for model in models if model.get("usable") != "yes"),
        cpu_features=_list_features(found.cpu),
        video_models=frozenset(_list_values(usual, "devices/video", "modelType")),
        usb_redirection="usb" in _list_values(usual, "devices/redirdev", "bus"),
        sev=sev is not None,
        sev_es=sev is not None and int(sev.findtext("maxESGuests", "0")) > 0,
    )


def _list_machines(capabilities: str, architecture: str) -> Iterator[ET.Element]:
    root = ET.fromstring(capabilities)  # noqa: S314 - libvirt wrote it
    return root.iterfind(f"guest/arch[@name='{architecture}']/machine")


def _list_features(cpu: str) -> frozenset[str]:
    """Return the features in an expanded CPU definition; an empty definition has none."""
    if not cpu:
        return frozenset()
    features = ET.fromstring(cpu).iterfind("feature")  # noqa: S314 - libvirt wrote it
    return frozenset(feature.get("name", "") for feature in features if feature.get("policy") != "disable")


def _list_values(root: ET.Element, device: str, name: str) -> set[str]:
    return {value.text or "" for value in root.iterfind(f"{device}[@supported='yes']/enum[@name='{name}']/value")}

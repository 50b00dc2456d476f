"""QEMU arguments for features that libvirt has no element for."""

from collections.abc import Iterable
from typing import Final

from virtshape.api.kubevirt.domain import Firmware
from virtshape.launcher.design.context import (
    HOOKS_ANNOTATION,
    IGNITION_ANNOTATION,
    DesignContext,
    find_annotation,
    locate_annotation,
)
from virtshape.launcher.design.os import find_table
from virtshape.launcher.domain.devices.interface import Interface

IGNITION_FILE: Final = "ignition.json"


def design_arguments(context: DesignContext) -> tuple[str, ...]:
    """Return the QEMU arguments for Ignition data and the MSDM table; refuse hook sidecars."""
    if find_annotation(context, HOOKS_ANNOTATION):
        context.refuse(locate_annotation(HOOKS_ANNOTATION), "hook sidecars are not supported")
    return (*_design_ignition(context), *_design_msdm(context))


def restrict_interfaces(interfaces: Iterable[Interface]) -> tuple[str, ...]:
    """Return the QEMU arguments that block outgoing traffic on restricted interfaces."""
    restricted = [interface for interface in interfaces if interface.restricted]
    return tuple(word for one in restricted for word in ("-set", f"netdev.{one.netdev}.restrict=on"))


def _design_ignition(context: DesignContext) -> tuple[str, ...]:
    """Return the arguments that pass Ignition data to the guest in a file, because the data may contain secrets."""
    config = find_annotation(context, IGNITION_ANNOTATION)
    if not config or "ignition" not in config:
        return ()
    path = context.locate(IGNITION_FILE)
    context.files[path] = config
    return ("-fw_cfg", f"name=opt/com.coreos/config,file={_escape(path)}")


def _design_msdm(context: DesignContext) -> tuple[str, ...]:
    acpi = (context.spec.domain.firmware or Firmware()).acpi
    path = find_table(context, "msdmNameRef", acpi.msdm_name_ref) if acpi is not None else None
    return ("-acpitable", f"file={_escape(path)}") if path is not None else ()


def _escape(value: str) -> str:
    """Escape commas, which separate QEMU options."""
    return value.replace(",", ",,")

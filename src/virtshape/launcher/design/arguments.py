"""
What libvirt has no element for, and QEMU is told directly; and what a launcher on one machine cannot do.

Pure: no I/O, no clock, no logging.
"""

from collections.abc import Iterable
from typing import Final

from virtshape.api.kubevirt.domain import Firmware
from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.design.os import find_table
from virtshape.launcher.design.texts import (
    HOOKS_ANNOTATION,
    IGNITION_ANNOTATION,
    find_annotation,
    locate_annotation,
)
from virtshape.launcher.domain.devices.interface import Interface

IGNITION_FILE: Final = "ignition.json"


def design_arguments(context: DesignContext) -> tuple[str, ...]:
    """More words for QEMU's command line."""
    if find_annotation(context, HOOKS_ANNOTATION):
        context.refuse(locate_annotation(HOOKS_ANNOTATION), "there are no sidecars on one machine")
    return (*_design_ignition(context), *_design_msdm(context))


def restrict_interfaces(interfaces: Iterable[Interface]) -> tuple[str, ...]:
    """Return the words that have user-mode networking let nothing out."""
    restricted = [interface for interface in interfaces if interface.restricted]
    return tuple(word for one in restricted for word in ("-set", f"netdev.{one.netdev}.restrict=on"))


def _design_ignition(context: DesignContext) -> tuple[str, ...]:
    """The first-boot configuration of CoreOS, which its guest reads from the firmware; often with secrets in it."""
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
    """QEMU ends a value at a comma, unless there are two."""
    return value.replace(",", ",,")

"""Design the identity of a guest: name, UUID and SMBIOS tables."""

import re
from typing import Final

from virtshape.api.kubevirt.domain import Chassis, Firmware
from virtshape.launcher.design.context import DesignContext, read_text
from virtshape.launcher.domain.domain import Metadata
from virtshape.launcher.domain.os import Entry, SysInfo

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def design_name(context: DesignContext) -> str:
    """Return a domain name that is unique across namespaces."""
    metadata = context.vmi.metadata
    return f"{metadata.namespace}_{metadata.name}"


def design_metadata(context: DesignContext) -> Metadata | None:
    """Return the instance's metadata, or None if the instance has no UID yet."""
    metadata = context.vmi.metadata
    if metadata.uid is None:
        return None
    return Metadata(uid=metadata.uid, grace_period=context.spec.termination_grace_period_seconds)


def design_uuid(context: DesignContext) -> str | None:
    """Return the firmware UUID, which is also the domain's UUID; None if it is not set or not valid."""
    uuid = (context.spec.domain.firmware or Firmware()).uuid
    if uuid is not None and not _UUID.fullmatch(uuid):
        context.refuse("spec.domain.firmware.uuid", f"invalid UUID {uuid}")
        return None
    return uuid.lower() if uuid is not None else None


def design_sysinfo(context: DesignContext, uuid: str | None) -> SysInfo | None:
    """Return the system and chassis tables; s390x guests have none."""
    firmware, chassis = context.spec.domain.firmware or Firmware(), context.spec.domain.chassis
    if context.host.architecture == "s390x":
        if chassis is not None:
            context.refuse("spec.domain.chassis", "is not supported for s390x guests, which have no SMBIOS tables")
        return None
    smbios = context.host.smbios
    system = {
        "uuid": uuid,
        "serial": read_text(context, "spec.domain.firmware.serial", firmware.serial),
        "manufacturer": smbios.manufacturer,
        "family": smbios.family,
        "product": smbios.product,
        "sku": smbios.sku,
        "version": smbios.version,
    }
    return SysInfo(system=_list_entries(system), chassis=_design_chassis(context, chassis or Chassis()))


def _design_chassis(context: DesignContext, chassis: Chassis) -> tuple[Entry, ...]:
    texts = {name: getattr(chassis, name) for name in chassis.__struct_fields__}
    return _list_entries(
        {name: read_text(context, f"spec.domain.chassis.{name}", text) for name, text in texts.items()}
    )


def _list_entries(table: dict[str, str | None]) -> tuple[Entry, ...]:
    return tuple(Entry(name, value) for name, value in table.items() if value)

"""Refuse device tags, which a guest would find in its config drive."""

from collections.abc import Sequence

from virtshape.api.kubevirt.devices import GPU, Disk, HostDevice
from virtshape.api.kubevirt.network import Interface
from virtshape.launcher.design.context import DEVICES, DesignContext

_Tagged = Disk | Interface | GPU | HostDevice


def refuse_tags(context: DesignContext) -> None:
    """Refuse tags if there is a config drive; otherwise they have no effect."""
    if all(volume.cloud_init_config_drive is None for volume in context.spec.volumes or ()):
        return
    devices = context.devices
    families: dict[str, Sequence[_Tagged]] = {
        "disks": devices.disks or (),
        "interfaces": devices.interfaces or (),
        "gpus": devices.gpus or (),
        "hostDevices": devices.host_devices or (),
    }
    for family, items in families.items():
        for index, item in enumerate(items):
            if item.tag:
                reason = "is not supported: the config drive is written before device addresses are known"
                context.refuse(f"{DEVICES}.{family}[{index}].tag", reason)

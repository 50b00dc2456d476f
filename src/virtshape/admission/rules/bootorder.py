"""Validate the boot orders of disks and network interfaces."""

from collections.abc import Iterator

from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.devices import Devices


def check_boot_orders(devices: Devices, at: str) -> Iterator[FieldError]:
    """Check that the boot orders of disks and interfaces are positive and unique; `at` is the path of the devices."""
    seen: dict[int, str] = {}
    orders = [("disks", index, disk.boot_order) for index, disk in enumerate(devices.disks or ())]
    orders += [("interfaces", index, item.boot_order) for index, item in enumerate(devices.interfaces or ())]
    for name, index, order in orders:
        if order is None:
            continue
        device = f"{at}.{name}[{index}]"
        field = f"{device}.bootOrder"
        if order < 1:
            yield FieldError(field, f"{device} must have a boot order > 0, if supplied", rule="invalid-value")
        elif order in seen:
            message = f"Boot order for {field} already set for a different device: {seen[order]} has {order} too"
            yield FieldError(field, message, rule="duplicate-name")
        seen.setdefault(order, field)

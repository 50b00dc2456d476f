"""Validate boot orders: positive, and unique among disks and interfaces."""

from collections.abc import Iterator

from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.devices import Devices


def check_boot_orders(devices: Devices, at: str) -> Iterator[Violation]:
    """Check that boot orders are positive and unique."""
    seen: dict[int, str] = {}
    orders = [("disks", index, disk.boot_order) for index, disk in enumerate(devices.disks or ())]
    orders += [("interfaces", index, item.boot_order) for index, item in enumerate(devices.interfaces or ())]
    for name, index, order in orders:
        if order is None:
            continue
        device = f"{at}.{name}[{index}]"
        field = f"{device}.bootOrder"
        if order < 1:
            yield Violation("invalid-value", field, f"{device} must have a boot order > 0, if supplied")
        elif order in seen:
            message = f"Boot order for {field} already set for a different device: {seen[order]} has {order} too"
            yield Violation("duplicate-name", field, message)
        seen.setdefault(order, field)

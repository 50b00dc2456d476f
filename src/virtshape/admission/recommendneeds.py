"""Derive the vCPUs and memory that instance types are recommended for, from measured usage or a cloud's size."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from msgspec import Struct

from virtshape.admission.recommend import Need
from virtshape.api.fielderror import FieldError
from virtshape.api.quantity import Quantity
from virtshape.engine.cloudsizes import CloudSize
from virtshape.engine.waste import size_for_usage

DEFAULT_HEADROOM: Final = 20
"""The percentage that is added to the usage unless another one is given."""
MAX_HEADROOM: Final = 1000


class Usage(Struct, frozen=True, forbid_unknown_fields=True):
    """The measured usage of a VM."""

    cpu: Quantity | None = None
    """The used CPU cores, such as 2.3 or 2300m."""
    memory: Quantity | None = None
    """The used memory, such as 6Gi."""


def check_usage(usage: Usage) -> Iterator[FieldError]:
    """Yield an error for each amount that is not greater than 0, and one if there is no amount."""
    for field, amount in (("cpu", usage.cpu), ("memory", usage.memory)):
        if amount is not None and amount.amount <= 0:
            yield FieldError(field, f'invalid amount "{amount}": must be greater than 0')
    if usage.cpu is None and usage.memory is None:
        yield FieldError("", "must set cpu or memory")


def need_of_usage(usage: Usage, headroom: Decimal) -> Need:
    """Return the size that a VM with this usage needs, with the headroom added."""
    needed = size_for_usage(usage.cpu, usage.memory, headroom)
    return Need(cpu_min=needed.vcpus or None, memory_min=needed.memory if usage.memory is not None else None)


def need_like(size: CloudSize) -> Need:
    """Return the size of a cloud's instance type as the need of a VM."""
    return Need(cpu_min=size.vcpus, memory_min=size.memory, gpus=size.gpus)


def override_need(base: Need, changes: Need) -> Need:
    """Return `base` with its values replaced by those that `changes` sets."""
    unset = Need()
    stated = {key: value for key, value in changes._asdict().items() if value != getattr(unset, key)}
    return base._replace(**stated)

"""Flags for the sizing policy of a new instance type: `--cpu-limits` and `--memory-limits`."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import click
from click.shell_completion import CompletionItem

from virtshape.api.instancetype.v1beta2 import CPULimits, MemoryLimits, MemoryPerVCPU
from virtshape.api.quantity import Quantity
from virtshape.cli.create.parameters import read_quantity
from virtshape.cli.errors import suggest

MAX_VCPUS = 2**32 - 1


class LimitsType(click.ParamType):  # type: ignore[type-arg] # not generic in click 8.1
    """Limits such as min=2,max=16,step=2; each part is optional."""

    members: ClassVar[Mapping[str, Callable[[str], Any]]]
    """The parser for the value of each part; parsers raise ValueError."""

    def read(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        """Return the limits by name, such as `min`; fail with the problems of all parts of the value."""
        values: dict[str, Any] = {}
        problems = []
        for part in value.split(","):
            member, _, text = part.partition("=")
            if member not in self.members:
                hint = suggest(member, self.members) or f"; write {self.name}"
                problems.append(f'invalid limit "{part}"{hint}')
            elif member in values:
                problems.append(f"{member} is given twice")
            else:
                try:
                    values[member] = self.members[member](text)
                except ValueError as error:
                    problems.append(f"{member}: {error}")
        if problems:
            self.fail("; ".join(problems), param, ctx)
        return values

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        """Complete the names of the parts that are not given yet."""
        before, comma, last = incomplete.rpartition(",")
        given = {part.partition("=")[0] for part in before.split(",")}
        names = [name for name in self.members if name.startswith(last) and name not in given]
        return [CompletionItem(f"{before}{comma}{name}=") for name in names]


def read_count(text: str) -> int:
    """Parse a number of vCPUs; raise ValueError if the text is not a valid number."""
    if not (text.isascii() and text.isdecimal()) or not 0 < int(text) <= MAX_VCPUS:
        raise ValueError(f'invalid number "{text}": must be an integer greater than 0')
    return int(text)


def read_amount(text: str) -> Quantity:
    """Parse an amount of memory; raise ValueError if the text is not a quantity above zero."""
    amount = read_quantity(text)
    if amount.amount <= 0:
        raise ValueError(f'invalid amount "{text}": must be greater than 0')
    return amount


class CPULimitsType(LimitsType):
    """Limits of the vCPUs that VMs may set."""

    name = "min=N,max=N,step=N"
    members: ClassVar = {"min": read_count, "max": read_count, "step": read_count}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> CPULimits:
        """Parse the limits."""
        return value if isinstance(value, CPULimits) else CPULimits(**self.read(value, param, ctx))


class MemoryLimitsType(LimitsType):
    """Limits of the memory that VMs may set, in total and per vCPU."""

    name = "min=SIZE,max=SIZE,step=SIZE,per-vcpu-min=SIZE,per-vcpu-max=SIZE"
    members: ClassVar = dict.fromkeys(("min", "max", "step", "per-vcpu-min", "per-vcpu-max"), read_amount)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> MemoryLimits:
        """Parse the limits."""
        if isinstance(value, MemoryLimits):
            return value
        values = self.read(value, param, ctx)
        least, most = values.pop("per-vcpu-min", None), values.pop("per-vcpu-max", None)
        per_vcpu = MemoryPerVCPU(min=least, max=most) if least is not None or most is not None else None
        return MemoryLimits(**values, per_vcpu=per_vcpu)

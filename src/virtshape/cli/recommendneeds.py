"""Parse the flags of `virtctl recommend` for usage, percentages and cloud sizes, and derive the need of a VM."""

from decimal import Decimal, InvalidOperation
from typing import Any

import click
from click.shell_completion import CompletionItem

from virtshape.admission.recommend import Need
from virtshape.admission.recommendneeds import Usage, check_usage
from virtshape.api.quantity import Quantity
from virtshape.cli.resolvedvm import ResolvedVM
from virtshape.controllers.vm.status import measure
from virtshape.engine.cloudsizes import (
    CLOUDS,
    CloudSize,
    explain_unknown_cloud_size,
    find_cloud_size,
    list_cloud_sizes,
)
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE

_RESOURCES = ("cpu", "memory")


class Percent(click.ParamType):  # type: ignore[type-arg] # not generic in click 8.1
    """A percentage such as 20% or 20, which is converted to a share such as 0.2."""

    name = "percent"

    def __init__(self, most: int) -> None:
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """Parse the percentage and check its bounds."""
        if isinstance(value, Decimal):
            return value
        try:
            percent = Decimal(value.removesuffix("%"))
        except InvalidOperation:
            percent = Decimal(-1)
        if not 0 <= percent <= self.most:
            self.fail(f'invalid percentage "{value}": must be from 0% to {self.most}%.', param, ctx)
        return percent / 100


class UsageType(click.ParamType):  # type: ignore[type-arg] # not generic in click 8.1
    """Measured usage, such as cpu=2.3,memory=6Gi; either value may be missing."""

    name = "cpu=cores,memory=quantity"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Usage:
        """Parse measured CPU and memory usage, as `--usage` gives it."""
        if isinstance(value, Usage):
            return value
        amounts: dict[str, Quantity] = {}
        for part in value.split(","):
            key, _, text = part.partition("=")
            if key not in _RESOURCES or key in amounts:
                self.fail(f'invalid usage "{value}": must be like cpu=2.3,memory=6Gi.', param, ctx)
            try:
                amounts[key] = Quantity(text)
            except ValueError as error:
                self.fail(f"{key}: {error}", param, ctx)
        usage = Usage(**amounts)
        for problem in check_usage(usage):
            self.fail(f"{problem}.", param, ctx)
        return usage

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        """Complete the names of resources."""
        before, comma, last = incomplete.rpartition(",")
        return [CompletionItem(f"{before}{comma}{name}=") for name in _RESOURCES if name.startswith(last)]


class CloudSizeType(click.ParamType):  # type: ignore[type-arg] # not generic in click 8.1
    """The name of a cloud's instance type, such as aws:m5.large."""

    name = "cloud:name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> CloudSize:
        """Find the size with this name."""
        if isinstance(value, CloudSize):
            return value
        size = find_cloud_size(value)
        if size is None:
            self.fail(explain_unknown_cloud_size(value), param, ctx)
        return size

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        """Complete the names of clouds, and then those of their instance types."""
        if ":" not in incomplete:
            return [CompletionItem(f"{cloud}:") for cloud in CLOUDS if cloud.startswith(incomplete)]
        return [CompletionItem(size.name) for size in list_cloud_sizes() if size.name.startswith(incomplete)]


def need_of_vm(resolved: ResolvedVM) -> Need:
    """Return the current size of a VM as its need, without CPU placement and hugepages that the VM sets itself."""
    template, domain = resolved.vm.spec.template.spec, resolved.spec.domain
    own = template.domain if template is not None else None
    has_own_placement = own is not None and own.cpu is not None and own.cpu.dedicated_cpu_placement is not None
    has_own_pages = own is not None and own.memory is not None and own.memory.hugepages is not None
    given = resolved.shape.instancetype
    return Need(
        cpu_min=measure(resolved.spec).vcpus,
        memory_min=domain.memory.guest if domain.memory else None,
        dedicated=None if has_own_placement else bool(domain.cpu and domain.cpu.dedicated_cpu_placement),
        hugepages=None if has_own_pages else bool(domain.memory and domain.memory.hugepages),
        gpus=len(given.gpus or ()) if given is not None else 0,
        preference=resolved.shape.preference,
        architecture=resolved.spec.architecture or DEFAULT_ARCHITECTURE,
    )

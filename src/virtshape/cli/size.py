"""
Sizes as flags take them, in the spellings of Kubernetes.

Only reads.
"""

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from virtshape.api.quantity import Quantity


class Size(click.ParamType):  # type: ignore[type-arg] # click 8.1 takes none
    """A size such as 20Gi."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Quantity":
        """Read it."""
        from virtshape.api.quantity import Quantity

        try:
            size = Quantity(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if size.value() <= 0:
            self.fail(f"{value} is no size.", param, ctx)
        return size

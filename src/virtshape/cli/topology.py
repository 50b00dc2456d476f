"""
The flag `--topology sockets=2,cores=4,threads=2`: an exact CPU topology, typed by hand.

A member that is left out is 1, as in the API.
"""

from typing import Any

import click

from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.cli.errors import suggest

MEMBERS = ("sockets", "cores", "threads")


class TopologyType(click.ParamType):  # type: ignore[type-arg] # click 8.1 takes none
    """A CPU topology."""

    name = "sockets=N,cores=N,threads=N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> CPUTopology:
        """Read the members."""
        if isinstance(value, CPUTopology):
            return value
        counts: dict[str, int] = {}
        for word in value.split(","):
            member, _, count = word.partition("=")
            if member not in MEMBERS:
                hint = suggest(member, MEMBERS) or "; write sockets=N,cores=N,threads=N"
                self.fail(f'"{word}" is no part of a topology{hint}', param, ctx)
            if member in counts:
                self.fail(f"{member} is given twice.", param, ctx)
            if not (count.isascii() and count.isdecimal()) or not 0 < int(count) < 2**32:
                self.fail(f'{member}: "{count}" is not a whole number above 0.', param, ctx)
            counts[member] = int(count)
        return CPUTopology(**counts)

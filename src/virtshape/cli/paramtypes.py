"""Click parameter types: addresses, durations, sizes, numbers of vCPUs and CPU topologies."""

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from virtshape.cli.command import Integer
from virtshape.cli.errors import suggest

if TYPE_CHECKING:
    from virtshape.api.kubevirt.domain import CPUTopology
    from virtshape.api.quantity import Quantity

_TOPOLOGY_MEMBERS = ("sockets", "cores", "threads")


class Address(click.ParamType):  # type: ignore[type-arg] # not generic in click 8.1
    """A host and a port: 127.0.0.1:6443, [::1]:6443, or :6443 for all addresses."""

    name = "host:port"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Parse the host and the port."""
        if isinstance(value, tuple):
            return value
        host, colon, port = value.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
            self.fail(f'invalid address "{value}": must be HOST:PORT, such as 127.0.0.1:6443.', param, ctx)
        bare = host.removeprefix("[").removesuffix("]")
        if ":" in bare and bare == host:
            self.fail(f"an IPv6 address needs brackets: [{host}]:{port}.", param, ctx)
        return bare or "0.0.0.0", int(port)  # noqa: S104 - as the user asks


class Duration(click.ParamType):  # type: ignore[type-arg] # not generic in click 8.1
    """A duration such as 45s, 1m30s or 45; the value remains text, which `parse_seconds` converts."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the duration and return its text."""
        try:
            parse_seconds(value)
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)
        return str(value)


def parse_seconds(text: str) -> float | None:
    """Return a duration in seconds, or None for 0, which means no limit; raise ValueError if it is invalid."""
    # Imported here to keep `--help` fast.
    from virtshape.api.times import parse_duration

    return parse_duration(f"{text}s" if text.isdecimal() else text) or None


class Size(click.ParamType):  # type: ignore[type-arg] # not generic in click 8.1
    """A quantity above zero, such as 20Gi."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Quantity":
        """Parse the quantity."""
        from virtshape.api.quantity import Quantity

        try:
            size = Quantity(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if size.value() <= 0:
            self.fail(f'invalid size "{value}": must be greater than 0.', param, ctx)
        return size


class Vcpus(Integer):
    """A number of vCPUs, or `open` if each VM sets its own number."""

    name = "number|open"

    def __init__(self) -> None:
        super().__init__(1, 2**32 - 1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number or `open`."""
        from virtshape.engine.customize import OPEN

        if value == OPEN:
            return OPEN
        if isinstance(value, str) and value.isalpha():
            self.fail(f'invalid number "{value}": must be an integer or open.', param, ctx)
        return super().convert(value, param, ctx)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        """Complete `open`."""
        return [CompletionItem("open")] if "open".startswith(incomplete) else []


class TopologyType(click.ParamType):  # type: ignore[type-arg] # not generic in click 8.1
    """A CPU topology such as sockets=2,cores=4,threads=2; each missing number is 1, as in the API."""

    name = "sockets=N,cores=N,threads=N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "CPUTopology":
        """Parse the topology."""
        from virtshape.api.kubevirt.domain import CPUTopology

        if isinstance(value, CPUTopology):
            return value
        counts: dict[str, int] = {}
        for part in value.split(","):
            member, _, count = part.partition("=")
            if member not in _TOPOLOGY_MEMBERS:
                hint = suggest(member, _TOPOLOGY_MEMBERS) or "; write sockets=N,cores=N,threads=N"
                self.fail(f'invalid topology part "{part}"{hint}', param, ctx)
            if member in counts:
                self.fail(f"{member} is given twice.", param, ctx)
            if not (count.isascii() and count.isdecimal()) or not 0 < int(count) < 2**32:
                self.fail(f'{member}: invalid count "{count}": must be an integer greater than 0.', param, ctx)
            counts[member] = int(count)
        return CPUTopology(**counts)

"""Validate ports of an interface: numbers, protocols and names."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from virtshape.admission.rules.checks import DUPLICATE
from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.network import Interface, Port, PortRange
from virtshape.engine.conflict import VALUE_REQUIRED

_MAX_PORTS: Final = 65535
_PROTOCOLS: Final = ("TCP", "UDP")
_NAME: Final = re.compile(r"(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*")


def check_ports(ports: Sequence[Port], at: str) -> Iterator[Violation]:
    """Check ports and their names; `at` is their path."""
    named: set[str] = set()
    for index, port in enumerate(ports):
        if port.port == 0:
            yield Violation("invalid-value", f"{at}[{index}].port", "Port field is mandatory.", VALUE_REQUIRED)
        elif not 0 < port.port <= _MAX_PORTS:
            message = "Port field must be in range 0 < x < 65536."
            yield Violation("invalid-value", f"{at}[{index}].port", message)
        if port.protocol and port.protocol not in _PROTOCOLS:
            yield _describe_protocol(port.protocol, f"{at}[{index}].protocol")
        if port.name:
            if port.name in named:
                message = f"Duplicate name of the port: {port.name}"
                yield Violation("duplicate-name", f"{at}[{index}].name", message, DUPLICATE)
            if not _NAME.fullmatch(port.name):
                reason = "use at most 15 lower case letters, digits and single '-', a letter among them"
                yield Violation(
                    "invalid-name", f"{at}[{index}].name", f"Invalid name of the port: {port.name}; {reason}"
                )
            named.add(port.name)


def check_port_ranges(interface: Interface, ranges: Sequence[PortRange], at: str) -> Iterator[Violation]:
    """Check port ranges, and that the interface supports them; `at` is their path."""
    if interface.ports:
        yield Violation("one-of", at, f"{at} cannot be combined with ports: keep one of them")
    if interface.masquerade is None:
        yield Violation("impossible-combination", at, f"{at} needs an interface bound by masquerade")
    for index, each in enumerate(ranges):
        if not 0 < each.start <= each.end <= _MAX_PORTS:
            message = f"invalid port range {each.start}-{each.end}: must be ascending, within 1-{_MAX_PORTS}"
            yield Violation("invalid-value", f"{at}[{index}]", message)
        if each.protocol not in _PROTOCOLS:
            yield _describe_protocol(each.protocol, f"{at}[{index}].protocol")


def _describe_protocol(protocol: str, field: str) -> Violation:
    return Violation("unsupported-value", field, f"Unknown protocol, only TCP or UDP allowed, not {protocol}")

"""Validate ports of an interface: numbers, protocols and names."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from virtshape.admission.rules.checks import DUPLICATE
from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.kubevirt.network import Interface, Port, PortRange

_MAX_PORTS: Final = 65535
PROTOCOLS: Final = ("TCP", "UDP")
_NAME: Final = re.compile(r"(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*")


def check_ports(ports: Sequence[Port], at: str) -> Iterator[FieldError]:
    """Check the number, protocol and name of each port; `at` is the field path of the list."""
    named: set[str] = set()
    for index, port in enumerate(ports):
        if port.port == 0:
            yield FieldError(f"{at}[{index}].port", "Port field is mandatory.", VALUE_REQUIRED, rule="invalid-value")
        elif not 0 < port.port <= _MAX_PORTS:
            message = "Port field must be in range 0 < x < 65536."
            yield FieldError(f"{at}[{index}].port", message, rule="invalid-value")
        if port.protocol and port.protocol not in PROTOCOLS:
            yield _describe_protocol(port.protocol, f"{at}[{index}].protocol")
        if port.name:
            if port.name in named:
                message = f"Duplicate name of the port: {port.name}"
                yield FieldError(f"{at}[{index}].name", message, DUPLICATE, rule="duplicate-name")
            if not _NAME.fullmatch(port.name):
                reason = "use at most 15 lower case letters, digits and single '-', with at least one letter"
                yield FieldError(
                    f"{at}[{index}].name", f"Invalid name of the port: {port.name}; {reason}", rule="invalid-name"
                )
            named.add(port.name)


def check_port_ranges(interface: Interface, ranges: Sequence[PortRange], at: str) -> Iterator[FieldError]:
    """Check port ranges, and that the interface supports them; `at` is the field path of the list."""
    if interface.ports:
        yield FieldError(at, f"{at} cannot be combined with ports: keep one of them", rule="one-of")
    if interface.masquerade is None:
        yield FieldError(at, f"{at} requires an interface with the binding masquerade", rule="impossible-combination")
    for index, each in enumerate(ranges):
        if not 0 < each.start <= each.end <= _MAX_PORTS:
            message = f"invalid port range {each.start}-{each.end}: must be ascending, within 1-{_MAX_PORTS}"
            yield FieldError(f"{at}[{index}]", message, rule="invalid-value")
        if each.protocol not in PROTOCOLS:
            yield _describe_protocol(each.protocol, f"{at}[{index}].protocol")


def _describe_protocol(protocol: str, field: str) -> FieldError:
    return FieldError(field, f"Unknown protocol, only TCP or UDP allowed, not {protocol}", rule="unsupported-value")

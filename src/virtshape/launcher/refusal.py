"""
What a host cannot honour: the field that asks for it, and why.

Plain facts; who finds one goes on, so that all of them are told at once.
"""

from msgspec import Struct


class Refusal(Struct, frozen=True):
    """One field of an instance that this host cannot honour."""

    field: str
    """Path from the instance's root, as in `spec.domain.cpu.model`."""
    reason: str
    """Plain words that can follow the field's path and a colon."""

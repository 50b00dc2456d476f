"""
Kubernetes quantities: `4Gi`, `250m`, `1e3`.
"""


class Quantity(str):
    """A quantity, kept as its canonical text."""

    __slots__ = ()

"""
Structs of instancetype.kubevirt.io/v1beta1, which is like v1beta2, except that vCPUs and memory are required.

v1alpha1 and v1alpha2 have the same fields and use these structs too.
"""

from virtshape.api.instancetype import v1beta2
from virtshape.api.instancetype.v1beta2 import (
    CPUInstancetype,
    VirtualMachineClusterPreference,
    VirtualMachinePreference,
)
from virtshape.api.quantity import Quantity

__all__ = [
    "MemoryInstancetype",
    "VirtualMachineClusterInstancetype",
    "VirtualMachineClusterPreference",
    "VirtualMachineInstancetype",
    "VirtualMachineInstancetypeSpec",
    "VirtualMachinePreference",
]


class MemoryInstancetype(v1beta2.MemoryInstancetype, kw_only=True):
    """The guest's memory."""

    guest: Quantity
    """Memory that the guest sees."""


class VirtualMachineInstancetypeSpec(v1beta2.VirtualMachineInstancetypeSpec, kw_only=True):
    """vCPUs, memory and devices of VMs with this instance type."""

    cpu: CPUInstancetype
    """The guest's vCPUs: either a number or an exact topology."""
    memory: MemoryInstancetype
    """The guest's memory."""


class VirtualMachineInstancetype(v1beta2.VirtualMachineInstancetype, kw_only=True):
    """An instance type in a namespace."""

    spec: VirtualMachineInstancetypeSpec
    """vCPUs, memory and devices of VMs with this instance type."""


class VirtualMachineClusterInstancetype(v1beta2.VirtualMachineClusterInstancetype, kw_only=True):
    """A cluster-wide instance type."""

    spec: VirtualMachineInstancetypeSpec
    """vCPUs, memory and devices of VMs with this instance type."""

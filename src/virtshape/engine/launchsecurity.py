"""Launch security, such as AMD SEV or Intel TDX, from the instance type or the preference."""

from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.domain import DomainSpec


def check_launch_security(domain: DomainSpec, instancetype: VirtualMachineInstancetypeSpec) -> list[str]:
    """Return the launch security field if both the VM and its instance type set it."""
    both = domain.launch_security is not None and instancetype.launch_security is not None
    return ["domain.launchSecurity"] if both else []


def apply_launch_security(domain: DomainSpec, instancetype: VirtualMachineInstancetypeSpec) -> None:
    """Set the launch security if the instance type sets it."""
    if instancetype.launch_security is not None:
        domain.launch_security = instancetype.launch_security


def apply_preferred_launch_security(domain: DomainSpec, preference: VirtualMachinePreferenceSpec) -> None:
    """Set the preferred launch security if neither the VM nor the instance type sets it."""
    domain.launch_security = domain.launch_security or preference.preferred_launch_security

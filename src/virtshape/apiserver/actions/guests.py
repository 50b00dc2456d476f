"""
What can be asked of a running guest, and when it cannot.

Pure: looks at the instance; who does it is somebody else's.
"""

from collections.abc import Callable
from typing import Final

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.status import StatusError
from virtshape.apiserver.actions.running import conflict
from virtshape.control.conditions import is_condition_true

_KIND: Final = "virtualmachineinstance"


def check_pause(vmi: VirtualMachineInstance) -> str | None:
    """Why the guest cannot be paused."""
    return "VMI is already paused" if _is_paused(vmi) else None


def check_unpause(vmi: VirtualMachineInstance) -> str | None:
    """Why the guest cannot go on."""
    return None if _is_paused(vmi) else "VMI is not paused"


def check_soft_reboot(vmi: VirtualMachineInstance) -> str | None:
    """Why the guest cannot be asked to reboot."""
    if _is_paused(vmi):
        return "VMI is paused"
    features = vmi.spec.domain.features
    acpi = features.acpi if features else None
    if (acpi is not None and acpi.enabled is not False) or _holds(vmi, "AgentConnected"):
        return None
    return "VMI neither have the agent connected nor the ACPI feature enabled"


def check_reset(_: VirtualMachineInstance) -> str | None:
    """Why the guest cannot be reset."""
    return None


CHECKS: Final[dict[str, Callable[[VirtualMachineInstance], str | None]]] = {
    "pause": check_pause,
    "unpause": check_unpause,
    "softreboot": check_soft_reboot,
    "reset": check_reset,
}


def check_guest_action(vmi: VirtualMachineInstance, action: str) -> None:
    """Refuse what cannot be done with the guest as it is."""
    name = (vmi.metadata.name if vmi.metadata else None) or ""
    if vmi.status is None or vmi.status.phase != "Running":
        raise conflict(_KIND, name, "VMI is not running")
    if action == "pause" and vmi.spec.liveness_probe is not None:
        words = f'{_KIND}.kubevirt.io "{name}" is forbidden: Pausing VMIs with LivenessProbe is currently not supported'
        raise StatusError(403, "Forbidden", words).about("kubevirt.io", _KIND, name)
    words_against = CHECKS[action](vmi)
    if words_against is not None:
        raise conflict(_KIND, name, words_against)


def _is_paused(vmi: VirtualMachineInstance) -> bool:
    return _holds(vmi, "Paused")


def _holds(vmi: VirtualMachineInstance, condition: str) -> bool:
    return is_condition_true(vmi.status.conditions if vmi.status else None, condition)

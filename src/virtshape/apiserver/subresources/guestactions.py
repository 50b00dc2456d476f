"""Preconditions for actions on a running guest, which are checked on its VMI."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from virtshape.api.kubevirt.conditions import is_condition_true
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.startstop import conflict

NOT_RUNNING: Final = "VMI is not running"
_KIND: Final = "virtualmachineinstance"


class GuestOptions(Struct, rename="camel"):
    """Options of an action on a guest."""

    dry_run: list[str] = []


def check_pause(vmi: VirtualMachineInstance) -> str | None:
    """Return why the guest cannot be paused, or None if it can."""
    return "VMI is already paused" if _is_paused(vmi) else None


def check_unpause(vmi: VirtualMachineInstance) -> str | None:
    """Return why the guest cannot be unpaused, or None if it can."""
    return None if _is_paused(vmi) else "VMI is not paused"


def check_soft_reboot(vmi: VirtualMachineInstance) -> str | None:
    """Return why the guest cannot be soft-rebooted, or None if it can."""
    if _is_paused(vmi):
        return "VMI is paused"
    features = vmi.spec.domain.features
    acpi = features.acpi if features else None
    if (acpi is not None and acpi.enabled is not False) or _holds(vmi, "AgentConnected"):
        return None
    return "VMI neither have the agent connected nor the ACPI feature enabled"


def check_reset(_: VirtualMachineInstance) -> str | None:
    """Return None: a running guest can always be reset."""
    return None


CHECKS: Final[dict[str, Callable[[VirtualMachineInstance], str | None]]] = {
    "pause": check_pause,
    "unpause": check_unpause,
    "softreboot": check_soft_reboot,
    "reset": check_reset,
}


def require_guest_action(vmi: VirtualMachineInstance, action: str) -> None:
    """Raise StatusError if the guest's state does not allow the action."""
    name = name_of(vmi)
    if not _is_running(vmi):
        raise conflict(_KIND, name, NOT_RUNNING)
    if action == "pause" and vmi.spec.liveness_probe is not None:
        message = (
            f'{_KIND}.kubevirt.io "{name}" is forbidden: Pausing VMIs with LivenessProbe is currently not supported'
        )
        raise StatusError(403, "Forbidden", message).about("kubevirt.io", _KIND, name)
    problem = CHECKS[action](vmi)
    if problem is not None:
        raise conflict(_KIND, name, problem)


def require_console(vmi: VirtualMachineInstance) -> None:
    """Raise StatusError unless the guest runs and has a serial console; clients that get 400 retry until it runs."""
    if vmi.spec.domain.devices.autoattach_serial_console is False:
        raise StatusError(400, "BadRequest", "No serial consoles are present.")
    if vmi.status is not None and vmi.status.phase == "Failed":
        raise conflict(_KIND, name_of(vmi), "VMI is in failed status")
    _require_running(vmi)


def require_vnc(vmi: VirtualMachineInstance) -> None:
    """Raise StatusError unless the guest runs and has a graphics device."""
    if vmi.spec.domain.devices.autoattach_graphics_device is False:
        raise StatusError(400, "BadRequest", "No graphics devices are present.")
    _require_running(vmi)


def require_port_forward(vmi: VirtualMachineInstance) -> None:
    """Raise StatusError if the guest is paused or not running."""
    if _is_paused(vmi):
        raise conflict(_KIND, name_of(vmi), "VMI is paused")
    _require_running(vmi)


def require_agent(vmi: VirtualMachineInstance, *, is_reported: bool = True) -> None:
    """Raise StatusError unless the guest runs; if `is_reported` is True, its VMI must also report a connected agent."""
    if not _is_running(vmi):
        raise conflict(_KIND, name_of(vmi), NOT_RUNNING)
    if is_reported and not _holds(vmi, "AgentConnected"):
        raise refuse_agent(vmi)


def refuse_agent(vmi: VirtualMachineInstance) -> StatusError:
    """Return the error for a missing guest agent."""
    return conflict(_KIND, name_of(vmi), "VMI does not have guest agent connected")


def name_of(vmi: VirtualMachineInstance) -> str:
    """Return the VMI's name."""
    return vmi.metadata.name or ""


def _require_running(vmi: VirtualMachineInstance) -> None:
    if not _is_running(vmi):
        raise StatusError(400, "BadRequest", NOT_RUNNING)


def _is_running(vmi: VirtualMachineInstance) -> bool:
    return vmi.status is not None and vmi.status.phase == "Running"


def _is_paused(vmi: VirtualMachineInstance) -> bool:
    return _holds(vmi, "Paused")


def _holds(vmi: VirtualMachineInstance, condition: str) -> bool:
    return is_condition_true(vmi.status.conditions if vmi.status else None, condition)

"""
Lines into the guest: the serial console, the channel of its agent, and ports for a client's USB devices.

Pure: no I/O, no clock, no logging.
"""

from typing import Final

from virtshape.launcher.design.devices.brief import DEVICES, Brief
from virtshape.launcher.domain.devices.console import Channel, Redirection, Serial

AGENT_CHANNEL: Final = "org.qemu.guest_agent.0"
METRICS_CHANNEL: Final = "org.github.vhostmd.1"
_USB_PORTS: Final = 4


def design_serials(brief: Brief) -> tuple[Serial, ...]:
    """The console, and the file that keeps what it printed, unless they are not wanted."""
    if brief.devices.autoattach_serial_console is False:
        return ()
    log = None if brief.devices.log_serial_console is False else brief.locate("serial0.log")
    return (Serial(brief.locate("serial0.sock"), log),)


def design_channels(brief: Brief) -> tuple[Channel, ...]:
    """The agent's channel always; that of the host's metrics where somebody serves them."""
    channels = [Channel(AGENT_CHANNEL, brief.locate("agent.sock"))]
    if brief.devices.downward_metrics is not None:
        if not brief.host.downward_metrics:
            brief.refuse(f"{DEVICES}.downwardMetrics", "this host serves no metrics to guests")
        channels.append(Channel(METRICS_CHANNEL, brief.locate("metrics.sock")))
    return tuple(channels)


def design_redirections(brief: Brief) -> tuple[Redirection, ...]:
    """Ports for USB devices that a client lends."""
    if brief.devices.client_passthrough is None:
        return ()
    if not brief.host.usb_redirection:
        brief.refuse(f"{DEVICES}.clientPassthrough", "the QEMU of this host cannot take USB devices from clients")
    return tuple(Redirection(brief.locate(f"usb{port}.sock")) for port in range(_USB_PORTS))

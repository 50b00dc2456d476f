"""
Lines into the guest: the serial console, the channel of its agent, and ports for a client's USB devices.

Pure: no I/O, no clock, no logging.
"""

from typing import Final

from virtshape.launcher.design.context import DEVICES, DesignContext
from virtshape.launcher.domain.devices.console import Channel, Redirection, Serial

AGENT_CHANNEL: Final = "org.qemu.guest_agent.0"
METRICS_CHANNEL: Final = "org.github.vhostmd.1"
_USB_PORTS: Final = 4


def design_serials(context: DesignContext) -> tuple[Serial, ...]:
    """The console, and the file that keeps what it printed, unless they are not wanted."""
    if context.devices.autoattach_serial_console is False:
        return ()
    log = None if context.devices.log_serial_console is False else context.locate("serial0.log")
    return (Serial(context.locate("serial0.sock"), log),)


def design_channels(context: DesignContext) -> tuple[Channel, ...]:
    """The agent's channel always; that of the host's metrics where somebody serves them."""
    channels = [Channel(AGENT_CHANNEL, context.locate("agent.sock"))]
    if context.devices.downward_metrics is not None:
        if not context.host.downward_metrics:
            context.refuse(f"{DEVICES}.downwardMetrics", "this host serves no metrics to guests")
        channels.append(Channel(METRICS_CHANNEL, context.locate("metrics.sock")))
    return tuple(channels)


def design_redirections(context: DesignContext) -> tuple[Redirection, ...]:
    """Ports for USB devices that a client lends."""
    if context.devices.client_passthrough is None:
        return ()
    if not context.host.usb_redirection:
        context.refuse(f"{DEVICES}.clientPassthrough", "the QEMU of this host cannot take USB devices from clients")
    return tuple(Redirection(context.locate(f"usb{port}.sock")) for port in range(_USB_PORTS))

"""Design the serial console, virtio channels and USB redirection ports."""

from typing import Final

from virtshape.launcher.design.context import DEVICES, DesignContext
from virtshape.launcher.domain.devices.console import Channel, Redirection, Serial
from virtshape.launcher.layout import SERIAL_LOG, SERIAL_SOCKET

AGENT_CHANNEL: Final = "org.qemu.guest_agent.0"
METRICS_CHANNEL: Final = "org.github.vhostmd.1"
_USB_PORTS: Final = 4


def design_serials(context: DesignContext) -> tuple[Serial, ...]:
    """Return the serial console and its log file, unless they are disabled."""
    if context.devices.autoattach_serial_console is False:
        return ()
    log = None if context.devices.log_serial_console is False else context.locate(SERIAL_LOG)
    return (Serial(context.locate(SERIAL_SOCKET), log),)


def design_channels(context: DesignContext) -> tuple[Channel, ...]:
    """Return the channel for the guest agent and, if requested, the one for downward metrics."""
    channels = [Channel(AGENT_CHANNEL, context.locate("agent.sock"))]
    if context.devices.downward_metrics is not None:
        if not context.host.downward_metrics:
            context.refuse(f"{DEVICES}.downwardMetrics", "downward metrics are not supported on this host")
        channels.append(Channel(METRICS_CHANNEL, context.locate("metrics.sock")))
    return tuple(channels)


def design_redirections(context: DesignContext) -> tuple[Redirection, ...]:
    """Return the USB redirection ports, if client passthrough is requested."""
    if context.devices.client_passthrough is None:
        return ()
    if not context.host.usb_redirection:
        context.refuse(f"{DEVICES}.clientPassthrough", "USB redirection is not supported by QEMU on this host")
    return tuple(Redirection(context.locate(f"usb{port}.sock")) for port in range(_USB_PORTS))

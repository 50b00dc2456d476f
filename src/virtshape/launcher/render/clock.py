"""
The hardware clock and its timers as XML.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.domain.clock import Clock
from virtshape.launcher.render.writing import add, yes_no


def render_clock(domain: Element, clock: Clock) -> None:
    """Append the element `clock`."""
    settings = {"offset": clock.offset, "adjustment": clock.adjustment, "timezone": clock.timezone}
    element = add(domain, "clock", settings)
    for timer in clock.timers:
        add(
            element,
            "timer",
            {
                "name": timer.name,
                "frequency": timer.frequency,
                "tickpolicy": timer.tick_policy,
                "track": timer.track,
                "present": yes_no(timer.present),
            },
        )

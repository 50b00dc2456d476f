"""
Confidential computing as XML.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.domain.security import LaunchSecurity
from virtshape.launcher.render.writing import add


def render_security(domain: Element, security: LaunchSecurity) -> None:
    """Append the element `launchSecurity`."""
    element = add(domain, "launchSecurity", {"type": security.kind})
    if security.policy is not None:
        add(element, "policy", text=f"0x{security.policy:04x}")
    if security.dh_cert is not None:
        add(element, "dhCert", text=security.dh_cert)
    if security.session is not None:
        add(element, "session", text=security.session)

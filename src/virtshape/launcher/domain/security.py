"""Launch security (confidential computing) of a domain: struct and its XML."""

from typing import Literal
from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.xml import add


class LaunchSecurity(Struct, frozen=True, kw_only=True):
    """A confidential computing technology and its settings."""

    kind: Literal["sev", "sev-snp", "tdx", "s390-pv"]
    policy: int | None = None
    dh_cert: str | None = None
    session: str | None = None


def render_security(domain: Element, security: LaunchSecurity) -> None:
    """Append the element `launchSecurity`."""
    element = add(domain, "launchSecurity", {"type": security.kind})
    if security.policy is not None:
        add(element, "policy", text=f"0x{security.policy:04x}")
    if security.dh_cert is not None:
        add(element, "dhCert", text=security.dh_cert)
    if security.session is not None:
        add(element, "session", text=security.session)

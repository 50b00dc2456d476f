"""Design confidential computing (launch security), if the host supports it."""

from typing import Final

from virtshape.api.kubevirt.domain import SEV
from virtshape.api.kubevirt.domain import LaunchSecurity as AskedSecurity
from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.domain.domain import LaunchSecurity

_SECURITY: Final = "spec.domain.launchSecurity"

# Policy bits defined by AMD.
_SEV_NO_DEBUG: Final = 1 << 0
_SEV_ENCRYPTED_STATE: Final = 1 << 2
_SNP_SMT_ALLOWED: Final = 1 << 16
_SNP_ALWAYS_ONE: Final = 1 << 17


def design_security(context: DesignContext) -> LaunchSecurity | None:
    """Return the requested launch security; refuse the field if the host does not support it."""
    asked, host = context.spec.domain.launch_security, context.host
    if asked is None:
        return None
    if host.architecture == "s390x" and asked == AskedSecurity():
        _check(context, _SECURITY, "Secure Execution", offered=host.secure_execution)
        return LaunchSecurity(kind="s390-pv")
    if asked.sev is not None:
        return _design_sev(context, asked.sev)
    if asked.snp is not None:
        _check(context, f"{_SECURITY}.snp", "SEV-SNP", offered=host.snp)
        return LaunchSecurity(kind="sev-snp", policy=_SNP_SMT_ALLOWED | _SNP_ALWAYS_ONE)
    if asked.tdx is not None:
        _check(context, f"{_SECURITY}.tdx", "TDX", offered=host.tdx)
        return LaunchSecurity(kind="tdx")
    context.refuse(_SECURITY, f"needs an encryption technology on {host.architecture}: set sev, snp or tdx")
    return None


def _design_sev(context: DesignContext, asked: SEV) -> LaunchSecurity:
    policy = _SEV_NO_DEBUG
    _check(context, f"{_SECURITY}.sev", "SEV", offered=context.host.sev)
    if asked.policy is not None and asked.policy.encrypted_state:
        policy |= _SEV_ENCRYPTED_STATE
        _check(context, f"{_SECURITY}.sev.policy.encryptedState", "SEV-ES", offered=context.host.sev_es)
    if asked.attestation is not None and context.spec.start_strategy != "Paused":
        field = f"{_SECURITY}.sev.attestation"
        context.refuse(field, "attestation needs a paused start: set startStrategy to Paused")
    return LaunchSecurity(kind="sev", policy=policy, dh_cert=asked.dh_cert or None, session=asked.session or None)


def _check(context: DesignContext, field: str, name: str, *, offered: bool) -> None:
    if not offered:
        context.refuse(field, f"this host does not support {name}")

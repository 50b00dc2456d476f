"""Launch security: SEV, SEV-SNP, TDX and Secure Execution."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.domains import ACCELERATED, EMULATING, design_guest, list_refusals

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.domain import LaunchSecurity

SHIELDING = replace(ACCELERATED, snp=True, tdx=True)
MAINFRAME = replace(
    ACCELERATED, architecture="s390x", machine_types=frozenset({"s390-ccw-virtio"}), secure_execution=True
)


def shield(**security: Any) -> JsonObject:
    return {"firmware": {"bootloader": {"efi": {"secureBoot": False}}}, "launchSecurity": security}


@pytest.mark.parametrize(
    ("asked", "security"),
    [
        pytest.param({"sev": {}}, LaunchSecurity(kind="sev", policy=0x1), id="SEV"),
        pytest.param(
            {"sev": {"policy": {"encryptedState": True}}}, LaunchSecurity(kind="sev", policy=0x5), id="SEV-ES"
        ),
        pytest.param(
            {"sev": {"session": "c2Vzc2lvbg==", "dhCert": "Y2VydA=="}},
            LaunchSecurity(kind="sev", policy=0x1, session="c2Vzc2lvbg==", dh_cert="Y2VydA=="),
            id="session of the owner",
        ),
        pytest.param({"snp": {}}, LaunchSecurity(kind="sev-snp", policy=0x30000), id="SEV-SNP"),
        pytest.param({"tdx": {}}, LaunchSecurity(kind="tdx"), id="TDX"),
    ],
)
def test_requested_launch_security_is_used(asked: JsonObject, security: LaunchSecurity) -> None:
    design = design_guest(shield(**asked), host=SHIELDING)
    assert design.domain.security == security
    assert list_refusals(design) == {}


def test_sev_attestation_requires_a_paused_start() -> None:
    asked = shield(sev={"attestation": {}})
    assert list_refusals(design_guest(asked, startStrategy="Paused")) == {}
    assert list_refusals(design_guest(asked)) == {
        "launchSecurity.sev.attestation": "attestation needs a paused start: set startStrategy to Paused"
    }


def test_launch_security_on_s390x_is_secure_execution() -> None:
    design = design_guest({"launchSecurity": {}}, host=MAINFRAME)
    assert design.domain.security == LaunchSecurity(kind="s390-pv")
    assert design.refusals == ()


def test_tdx_guest_has_no_pmu() -> None:
    assert design_guest(shield(tdx={}), host=SHIELDING).domain.features.pmu is False


@pytest.mark.parametrize(
    ("asked", "refusals"),
    [
        pytest.param({"sev": {}}, {"launchSecurity.sev": "this host does not support SEV"}, id="SEV"),
        pytest.param(
            {"sev": {"policy": {"encryptedState": True}}},
            {
                "launchSecurity.sev": "this host does not support SEV",
                "launchSecurity.sev.policy.encryptedState": "this host does not support SEV-ES",
            },
            id="SEV-ES",
        ),
        pytest.param({"snp": {}}, {"launchSecurity.snp": "this host does not support SEV-SNP"}, id="SEV-SNP"),
        pytest.param({"tdx": {}}, {"launchSecurity.tdx": "this host does not support TDX"}, id="TDX"),
        pytest.param(
            {},
            {"launchSecurity": "needs an encryption technology on amd64: set sev, snp or tdx"},
            id="no technology",
        ),
    ],
)
def test_unsupported_launch_security_is_refused(asked: JsonObject, refusals: dict[str, str]) -> None:
    assert list_refusals(design_guest(shield(**asked), host=EMULATING)) == refusals


def test_secure_execution_is_refused_on_a_host_without_support() -> None:
    host = replace(MAINFRAME, secure_execution=False)
    refusals = list_refusals(design_guest({"launchSecurity": {}}, host=host))
    assert refusals == {"launchSecurity": "this host does not support Secure Execution"}

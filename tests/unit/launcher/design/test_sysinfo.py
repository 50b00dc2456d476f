"""Names and IDs of a domain, and its SMBIOS tables."""

import pytest
from msgspec.structs import replace
from tests.support.domains import ACCELERATED, UUID, design_guest, list_refusals

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.domain import Metadata
from virtshape.launcher.domain.os import Entry, SysInfo
from virtshape.launcher.host import Smbios

MADE = (Entry("manufacturer", "KubeVirt"), Entry("family", "KubeVirt"), Entry("product", "None"))
MAINFRAME = replace(ACCELERATED, architecture="s390x", machine_types=frozenset({"s390-ccw-virtio"}))


@pytest.mark.parametrize(
    ("domain", "sysinfo"),
    [
        pytest.param({}, SysInfo(system=MADE), id="defaults"),
        pytest.param(
            {"firmware": {"uuid": UUID.upper(), "serial": "s-1"}},
            SysInfo(system=(Entry("uuid", UUID), Entry("serial", "s-1"), *MADE)),
            id="custom values",
        ),
        pytest.param(
            {"chassis": {"manufacturer": "me", "version": "1", "serial": "c-1", "asset": "a", "sku": "s"}},
            SysInfo(
                system=MADE,
                chassis=(
                    Entry("manufacturer", "me"),
                    Entry("version", "1"),
                    Entry("serial", "c-1"),
                    Entry("asset", "a"),
                    Entry("sku", "s"),
                ),
            ),
            id="chassis",
        ),
    ],
)
def test_smbios_tables_are_filled(domain: JsonObject, sysinfo: SysInfo) -> None:
    design = design_guest(domain)
    assert design.domain.sysinfo == sysinfo
    assert design.refusals == ()


def test_smbios_defaults_can_be_configured() -> None:
    smbios = Smbios(manufacturer="me", product="mine", family="ours", sku="1", version="2")
    assert design_guest(host=replace(ACCELERATED, smbios=smbios)).domain.sysinfo == SysInfo(
        system=(
            Entry("manufacturer", "me"),
            Entry("family", "ours"),
            Entry("product", "mine"),
            Entry("sku", "1"),
            Entry("version", "2"),
        )
    )


def test_domain_has_name_and_ids_of_its_instance() -> None:
    domain = design_guest({"firmware": {"uuid": UUID}}, uid="u-1", terminationGracePeriodSeconds=5).domain
    assert (domain.name, domain.title, domain.uuid) == ("default_guest", "default/guest", UUID)
    assert domain.metadata == Metadata(uid="u-1", grace_period=5)


def test_s390x_has_no_smbios_tables() -> None:
    domain = design_guest({"firmware": {"serial": "s-1"}}, host=MAINFRAME).domain
    assert domain.sysinfo is None
    assert not domain.os.smbios


@pytest.mark.parametrize(
    ("domain", "refusals"),
    [
        pytest.param({"firmware": {"uuid": "guest"}}, {"firmware.uuid": "invalid UUID guest"}, id="invalid UUID"),
        pytest.param(
            {"firmware": {"serial": "\x00"}, "chassis": {"asset": "a\x1b"}},
            {
                "firmware.serial": "has characters that are not valid in XML",
                "chassis.asset": "has characters that are not valid in XML",
            },
            id="invalid characters",
        ),
    ],
)
def test_invalid_smbios_value_is_refused(domain: JsonObject, refusals: dict[str, str]) -> None:
    assert list_refusals(design_guest(domain)) == refusals


def test_chassis_is_refused_on_s390x() -> None:
    refusals = list_refusals(design_guest({"chassis": {"asset": "a"}}, host=MAINFRAME))
    assert refusals == {"chassis": "is not supported for s390x guests, which have no SMBIOS tables"}

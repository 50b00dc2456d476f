"""
Complete domains checked with libvirt's schema, its conversion to QEMU arguments, and QEMU.

Every object of the catalog is tested with and without KVM.
"""

from fnmatch import fnmatch
from typing import Any

import pytest
from lxml.etree import RelaxNG, fromstring
from msgspec.structs import replace
from tests.support.build import build_instancetype_spec, build_vm
from tests.support.domains import ACCELERATED, EMULATING, STATE, build_guest
from tests.support.libvirtdriver import Driver

from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject
from virtshape.catalog.loader import find, names
from virtshape.controllers.vm.newvmi import build_instance
from virtshape.engine.expand import Shape
from virtshape.launcher.design.domain import Design, design_domain
from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.domain.domain import Domain, render_domain_xml
from virtshape.launcher.host import Host

INSTANCETYPE = "VirtualMachineClusterInstancetype"
PREFERENCE = "VirtualMachineClusterPreference"
HOSTS = [pytest.param(ACCELERATED, id="with KVM"), pytest.param(EMULATING, id="without KVM")]
SOURCES = {"root": Source(path="/guest/root.qcow2", format="qcow2")}

HYPERV = {f"spec.domain.features.hyperv.{name}" for name in ("vpindex", "synic", "synictimer", "tlbflush", "ipi")}
REFUSED_ANYWHERE = {"*.arm64": {"spec.architecture"}, "*.s390x*": {"spec.architecture"}}
REFUSED_WITHOUT_KVM = REFUSED_ANYWHERE | {
    "windows.*": HYPERV,
    "rt1.*": {"spec.domain.cpu.realtime"},
    "*.dpdk": {"spec.domain.devices.networkInterfaceMultiqueue"},
    "*.realtime": {"spec.domain.devices.networkInterfaceMultiqueue"},
}
"""Fields that the tested hosts do not support, by pattern of the catalog object's name."""


def build_vmi(
    instancetype: VirtualMachineInstancetypeSpec | None = None, preference: VirtualMachinePreferenceSpec | None = None
) -> VirtualMachineInstance:
    """Return an instance with one disk: 8 vCPUs and 8Gi by default, 2 and 2Gi if the instance type sets no memory."""
    given = instancetype or build_instancetype_spec(cpu={"guest": 8}, memory={"guest": "8Gi"})
    sized = given.memory is not None and given.memory.guest is not None
    vm = build_vm(
        namespace="default",
        cpu_guest=None if sized else 2,
        memory=None if sized else "2Gi",
        domain={"devices": {"disks": [{"name": "root"}]}},
        template={"volumes": [{"name": "root", "containerDisk": {"image": "guest"}}]},
    )
    return build_instance(vm, Shape(given, preference), None)


def check_schema(schema: RelaxNG, domain: Domain) -> None:
    assert schema.validate(fromstring(render_domain_xml(domain))), schema.error_log


def emulate(domain: Domain) -> Domain:
    """Return the domain without KVM, with an emulated CPU model and without interfaces, which may need tap devices."""
    cpu = domain.cpu if domain.cpu.mode == "custom" else replace(domain.cpu, mode="custom", model="Westmere")
    return replace(domain, type="qemu", cpu=cpu, devices=replace(domain.devices, interfaces=()))


def check_catalog_object(name: str, vmi: VirtualMachineInstance, host: Host, schema: RelaxNG, driver: Driver) -> None:
    design = design_domain(vmi, host, SOURCES, "/guest", state_directory=STATE)
    table = REFUSED_ANYWHERE if host.kvm else REFUSED_WITHOUT_KVM
    expected = {field for pattern, fields in table.items() if fnmatch(name, pattern) for field in fields}
    assert {refusal.field for refusal in design.refusals} == expected
    check_schema(schema, design.domain)
    if not design.refusals:
        assert driver.accept(render_domain_xml(emulate(design.domain))) is None


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", names(INSTANCETYPE))
def test_every_instancetype_renders_a_valid_domain(name: str, host: Host, schema: RelaxNG, driver: Driver) -> None:
    instancetype: Any = find(INSTANCETYPE, name)
    check_catalog_object(name, build_vmi(instancetype=instancetype.spec), host, schema, driver)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", names(PREFERENCE))
def test_every_preference_renders_a_valid_domain(name: str, host: Host, schema: RelaxNG, driver: Driver) -> None:
    preference: Any = find(PREFERENCE, name)
    check_catalog_object(name, build_vmi(preference=preference.spec), host, schema, driver)


def design(domain: JsonObject, host: Host, directory: str = "/guest", **rest: Any) -> Design:
    return design_domain(build_guest(domain, **rest), host, {}, directory, state_directory=directory)


TWO_CPUS = replace(EMULATING, cpus=(0, 1), numa_cells=())
"""A host with two CPUs, which every test machine has."""

DEDICATED = {"dedicatedCpuPlacement": True}
EFI = {"bootloader": {"efi": {"secureBoot": False}}}

RARE: list[Any] = [
    pytest.param({"launchSecurity": {"sev": {"session": "eA==", "dhCert": "eA=="}}, "firmware": EFI}, {}, id="SEV"),
    pytest.param({"cpu": {**DEDICATED, "sockets": 2, "realtime": {"mask": "0"}}}, {}, id="realtime"),
    pytest.param({"features": {"hypervPassthrough": {"enabled": True}, "kvm": {"hidden": True}}}, {}, id="Hyper-V"),
    pytest.param({"features": {"pvspinlock": {}, "apic": {"endOfInterrupt": True}}}, {}, id="paravirtual"),
    pytest.param({"memory": {"guest": "1Gi", "reservedOverhead": {"memLock": "Required"}}}, {}, id="locked memory"),
    pytest.param(
        {"cpu": {"features": [{"name": "invtsc"}]}}, {"status": {"topologyHints": {"tscFrequency": 10**9}}}, id="TSC"
    ),
]
"""Domains that need hardware that the test machine may lack."""


@pytest.mark.parametrize(("domain", "rest"), RARE)
def test_domain_for_uncommon_hardware_matches_the_libvirt_schema(
    domain: JsonObject, rest: JsonObject, schema: RelaxNG
) -> None:
    designed = design(domain, ACCELERATED, **rest)
    assert designed.refusals == ()
    check_schema(schema, designed.domain)


COMMON: list[Any] = [
    pytest.param({"cpu": {"sockets": 3, "cores": 2, "threads": 1}}, {}, id="topology"),
    pytest.param({"cpu": {"sockets": 1, "threads": 2, "maxSockets": 2}}, {}, id="CPU hotplug"),
    pytest.param({"memory": {"guest": "128Mi", "maxGuest": "1Gi"}}, {}, id="memory hotplug"),
    pytest.param(
        {"cpu": {**DEDICATED, "isolateEmulatorThread": True}, "ioThreadsPolicy": "auto"}, {}, id="CPU pinning"
    ),
    pytest.param(
        {"cpu": {"model": "Skylake-Server", "features": [{"name": "avx2"}]}}, {}, id="CPU model without features"
    ),
    pytest.param({"machine": {"type": "pc"}}, {}, id="i440fx machine type"),
    pytest.param(
        {"chassis": {"asset": "a, b & c"}, "firmware": {"bootloader": {"bios": {"useSerial": True}}, "serial": "s"}},
        {"startStrategy": "Paused", "annotations": {"kubevirt.io/ignitiondata": '{"ignition": {}, "a": 1}'}},
        id="BIOS with SMBIOS tables",
    ),
    pytest.param(
        {
            "clock": {
                "timezone": "Europe/Rome",
                "timer": {
                    "hpet": {"present": True},
                    "kvm": {"present": False},
                    "pit": {"tickPolicy": "catchup"},
                    "rtc": {"track": "wall"},
                },
            }
        },
        {},
        id="time zone and timers",
    ),
    pytest.param({"clock": {"utc": {"offsetSeconds": -3600}}}, {}, id="UTC offset"),
    pytest.param(
        {
            "clock": {"utc": {}, "timer": {"hpet": {"present": False}, "hyperv": {}, "pit": {"tickPolicy": "delay"}}},
            "devices": {"tpm": {"persistent": True}},
            "features": {
                "apic": {},
                "hyperv": {
                    "frequencies": {},
                    "reenlightenment": {},
                    "relaxed": {},
                    "runtime": {},
                    "spinlocks": {"spinlocks": 8191},
                    "vapic": {},
                    "vendorid": {"vendorid": "somebody"},
                },
                "kvm": {"hidden": True},
                "smm": {},
            },
            "firmware": {"bootloader": {"efi": {"persistent": True}}},
        },
        {},
        id="Windows",
    ),
]
"""Domains that every machine supports."""


@pytest.mark.parametrize(("domain", "rest"), COMMON)
def test_qemu_starts_a_domain_that_every_machine_supports(
    domain: JsonObject, rest: JsonObject, schema: RelaxNG, driver: Driver
) -> None:
    designed = design({"memory": {"guest": "128Mi"}, **domain}, TWO_CPUS, str(driver.directory), **rest)
    assert designed.refusals == ()
    check_schema(schema, designed.domain)
    assert driver.start(render_domain_xml(designed.domain)) is None

"""The complete domain of an instance."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.domains import (
    ACCELERATED,
    DIRECTORY,
    EMULATING,
    GIB,
    OVMF_SECURE,
    UUID,
    VARIABLES_SECURE,
    build_guest,
    design_guest,
    list_refusals,
)

from virtshape.api.model import JsonObject
from virtshape.launcher.design.devices.devices import design_devices
from virtshape.launcher.design.domain import Design
from virtshape.launcher.domain.clock import Clock, Timer
from virtshape.launcher.domain.cpu import Cpu, Topology, Vcpus
from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.domain.domain import Domain, Metadata
from virtshape.launcher.domain.features import Apic, Enlightenment, Features, Hyperv
from virtshape.launcher.domain.memory import Memory
from virtshape.launcher.domain.os import Entry, Loader, Os, SysInfo
from virtshape.launcher.report import Note

WINDOWS: JsonObject = {
    "clock": {
        "utc": {},
        "timer": {
            "hpet": {"present": False},
            "hyperv": {"present": True},
            "pit": {"present": True, "tickPolicy": "delay"},
            "rtc": {"present": True, "tickPolicy": "catchup"},
        },
    },
    "cpu": {"sockets": 2, "cores": 1, "threads": 1, "model": "host-model"},
    "devices": {
        "disks": [{"name": "containerdisk", "disk": {"bus": "sata"}}],
        "interfaces": [{"name": "default", "masquerade": {}, "model": "e1000"}],
        "tpm": {},
    },
    "features": {
        "acpi": {"enabled": True},
        "apic": {"enabled": True},
        "hyperv": {
            "relaxed": {"enabled": True},
            "spinlocks": {"enabled": True, "spinlocks": 8191},
            "vapic": {"enabled": True},
        },
        "smm": {"enabled": True},
    },
    "firmware": {"bootloader": {"efi": {"secureBoot": True}}, "uuid": UUID, "serial": "s-1"},
    "machine": {"type": "q35"},
    "memory": {"guest": "2Gi"},
    "resources": {"requests": {"memory": "2Gi"}},
}
DISK: dict[str, Any] = {
    "networks": [{"name": "default", "pod": {}}],
    "volumes": [{"name": "containerdisk", "containerDisk": {"image": "windows"}}],
    "terminationGracePeriodSeconds": 0,
}
SOURCES = {"containerdisk": Source(path="/guest/containerdisk.qcow2", format="qcow2")}

EXPECTED = Domain(
    type="kvm",
    name="default_guest",
    uuid=UUID,
    title="default/guest",
    metadata=Metadata(uid="u-1", grace_period=0),
    memory=Memory(size=2 * GIB),
    vcpus=Vcpus(current=2, maximum=2),
    sysinfo=SysInfo(
        system=(
            Entry("uuid", UUID),
            Entry("serial", "s-1"),
            Entry("manufacturer", "KubeVirt"),
            Entry("family", "KubeVirt"),
            Entry("product", "None"),
        )
    ),
    os=Os(
        architecture="x86_64",
        machine="pc-q35-7.2",
        loader=Loader(code=OVMF_SECURE, secure=True, variables_template=VARIABLES_SECURE),
        smbios=True,
    ),
    features=Features(
        acpi=True,
        apic=Apic(),
        hyperv=Hyperv(
            enlightenments=(
                Enlightenment(name="relaxed", on=True),
                Enlightenment(name="vapic", on=True),
                Enlightenment(name="spinlocks", on=True, retries=8191),
            )
        ),
        vmport=False,
        smm=True,
    ),
    cpu=Cpu(mode="host-model", topology=Topology(2)),
    clock=Clock(
        adjustment="reset",
        timers=(
            Timer(name="rtc", present=True, tick_policy="catchup"),
            Timer(name="pit", present=True, tick_policy="delay"),
            Timer(name="hpet", present=False),
            Timer(name="hypervclock", present=True),
        ),
    ),
    devices=design_devices(build_guest(WINDOWS, **DISK), ACCELERATED, SOURCES, DIRECTORY).devices,
)


def test_complete_domain_is_designed_for_an_instance() -> None:
    design = design_guest(WINDOWS, sources=SOURCES, uid="u-1", **DISK)
    assert design.domain == EXPECTED
    assert design.refusals == ()


def test_domain_without_kvm_has_replacements_and_notes() -> None:
    parts = design_devices(build_guest(WINDOWS, **DISK), EMULATING, SOURCES, DIRECTORY)
    assert design_guest(WINDOWS, host=EMULATING, sources=SOURCES, uid="u-1", **DISK) == Design(
        domain=replace(
            EXPECTED,
            type="qemu",
            cpu=Cpu(mode="custom", model="Westmere", topology=Topology(2)),
            devices=parts.devices,
        ),
        notes=(
            Note("spec.domain", "KVM is not available on this host: QEMU emulates the guest's CPUs, which is slow"),
            Note("spec.domain.features.hyperv", "without KVM these have no effect: relaxed, vapic, spinlocks"),
            Note("spec.domain.cpu.model", "host-model needs KVM; the guest gets the model Westmere instead"),
            Note("spec.domain.clock.timer.hyperv", "has no effect without KVM"),
            *parts.notes,
        ),
    )


def test_minimal_instance_gets_default_devices() -> None:
    design = design_guest()
    assert design.domain == Domain(
        type="kvm",
        name="default_guest",
        title="default/guest",
        memory=Memory(size=GIB),
        vcpus=Vcpus(current=1, maximum=1),
        sysinfo=SysInfo(
            system=(Entry("manufacturer", "KubeVirt"), Entry("family", "KubeVirt"), Entry("product", "None"))
        ),
        os=Os(architecture="x86_64", machine="pc-q35-7.2", smbios=True),
        features=Features(acpi=True, vmport=False),
        cpu=Cpu(mode="host-model"),
        clock=Clock(),
        devices=design.domain.devices,
    )


def test_all_refused_fields_of_a_guest_are_reported_at_once() -> None:
    domain = {
        "cpu": {"model": "Z80", "dedicatedCpuPlacement": True, "sockets": 80},
        "machine": {"type": "pc-q35-rhel9.2.0"},
        "memory": {"guest": "1Gi", "hugepages": {"pageSize": "64Ki"}},
        "devices": {"autoattachVSOCK": True},
        "rebootPolicy": "Never",
    }
    refusals = design_guest(domain).refusals
    assert [refusal.field for refusal in refusals] == [
        "spec.domain.machine.type",
        "spec.domain.cpu.dedicatedCpuPlacement",
        "spec.domain.memory.hugepages.pageSize",
        "spec.domain.cpu.model",
        "spec.domain.rebootPolicy",
        "spec.domain.devices.autoattachVSOCK",
    ]
    assert all(refusal.reason for refusal in refusals)


@pytest.mark.parametrize(("policy", "action"), [(None, "restart"), ("Reboot", "restart"), ("Terminate", "destroy")])
def test_reboot_policy_decides_the_action_on_reboot(policy: str | None, action: str) -> None:
    design = design_guest({"rebootPolicy": policy})
    assert design.domain.on_reboot == action
    assert design.refusals == ()


def test_unknown_reboot_policy_is_refused() -> None:
    refusals = list_refusals(design_guest({"rebootPolicy": "Never"}))
    assert refusals == {"rebootPolicy": "unsupported value Never: use one of Reboot, Terminate"}

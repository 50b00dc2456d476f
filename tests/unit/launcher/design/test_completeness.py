"""Every field of an instance's domain changes the result: the domain, a refusal or a note."""

import types
from typing import Any, Union, get_args, get_origin

import pytest
from msgspec import structs
from tests.support.domains import ACCELERATED, GIB, design_guest

from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.model import JsonObject, Model
from virtshape.launcher.domain.devices.disk import Source

SEV = {"firmware": {"bootloader": {"efi": {"secureBoot": False}}}}
KERNEL = {"firmware": {"kernelBoot": {"container": {"image": "kernel", "kernelPath": "/vmlinuz"}}}}
DEDICATED = {"cpu": {"sockets": 2, "dedicatedCpuPlacement": True}}
HUGE = {"memory": {"guest": "1Gi", "hugepages": {"pageSize": "1Gi"}}}
TIMER: JsonObject = {"features": {"hyperv": {"vpindex": {}, "synic": {}}}, "clock": {"timer": {"hyperv": {}}}}
FLUSH: JsonObject = {"features": {"hyperv": {"vpindex": {}}}}
FULL = {"memory": {"guest": f"{ACCELERATED.memory // GIB}Gi", "reservedOverhead": {"addedOverhead": "1Gi"}}}
SOURCES = {
    "table": Source(path="/table.bin"),
    "kernelBoot/kernel": Source(path="/vmlinuz"),
    "kernelBoot/initrd": Source(path="/initrd"),
}

SWITCHES = ("frequencies", "ipi", "reenlightenment", "relaxed", "reset", "runtime", "synic", "vapic", "vpindex")

SAMPLES: dict[str, tuple[JsonObject, Any]] = {
    "chassis.asset": ({}, "a"),
    "chassis.manufacturer": ({}, "a"),
    "chassis.serial": ({}, "a"),
    "chassis.sku": ({}, "a"),
    "chassis.version": ({}, "a"),
    "clock.timer.hpet.present": ({"clock": {"timer": {"hpet": {}}}}, False),
    "clock.timer.hpet.tickPolicy": ({"clock": {"timer": {"hpet": {}}}}, "merge"),
    "clock.timer.hyperv.present": ({"clock": {"timer": {"hyperv": {}}}}, False),
    "clock.timer.kvm.present": ({"clock": {"timer": {"kvm": {}}}}, False),
    "clock.timer.pit.present": ({"clock": {"timer": {"pit": {}}}}, False),
    "clock.timer.pit.tickPolicy": ({"clock": {"timer": {"pit": {}}}}, "delay"),
    "clock.timer.rtc.present": ({"clock": {"timer": {"rtc": {}}}}, False),
    "clock.timer.rtc.tickPolicy": ({"clock": {"timer": {"rtc": {}}}}, "catchup"),
    "clock.timer.rtc.track": ({"clock": {"timer": {"rtc": {}}}}, "wall"),
    "clock.timezone": ({}, "Europe/Rome"),
    "clock.utc.offsetSeconds": ({"clock": {"utc": {}}}, 60),
    "cpu.cores": ({}, 2),
    "cpu.dedicatedCpuPlacement": ({}, True),
    "cpu.features": ({}, [{"name": "aes"}]),
    "cpu.guest": ({}, 2),
    "cpu.isolateEmulatorThread": (DEDICATED, True),
    "cpu.maxSockets": ({}, 4),
    "cpu.model": ({}, "Westmere"),
    "cpu.numa.guestMappingPassthrough": (DEDICATED | HUGE, {}),
    "cpu.realtime.mask": ({"cpu": {**DEDICATED["cpu"], "realtime": {}}}, "0"),
    "cpu.sockets": ({}, 2),
    "cpu.threads": ({}, 2),
    "features.acpi.enabled": ({}, False),
    "features.apic.enabled": ({"features": {"apic": {}}}, False),
    "features.apic.endOfInterrupt": ({"features": {"apic": {}}}, True),
    "features.hyperv.evmcs.enabled": ({"features": {"hyperv": {"vapic": {}, "evmcs": {}}}}, False),
    **{f"features.hyperv.{name}.enabled": ({"features": {"hyperv": {name: {}}}}, False) for name in SWITCHES},
    "features.hyperv.spinlocks.enabled": ({"features": {"hyperv": {"spinlocks": {}}}}, False),
    "features.hyperv.spinlocks.spinlocks": ({"features": {"hyperv": {"spinlocks": {}}}}, 8191),
    "features.hyperv.synictimer.direct.enabled": (TIMER, True),
    "features.hyperv.synictimer.enabled": (TIMER, False),
    "features.hyperv.tlbflush.direct.enabled": (FLUSH, True),
    "features.hyperv.tlbflush.enabled": (FLUSH, False),
    "features.hyperv.tlbflush.extended.enabled": (FLUSH, True),
    "features.hyperv.vendorid.enabled": ({"features": {"hyperv": {"vendorid": {"vendorid": "a"}}}}, False),
    "features.hyperv.vendorid.vendorid": ({"features": {"hyperv": {"vendorid": {}}}}, "a"),
    "features.hypervPassthrough.enabled": ({}, True),
    "features.kvm.hidden": ({}, True),
    "features.pvspinlock.enabled": ({"features": {"pvspinlock": {}}}, False),
    "features.smm.enabled": ({"features": {"smm": {}}}, False),
    "firmware.acpi.msdmNameRef": ({}, "table"),
    "firmware.acpi.slicNameRef": ({}, "table"),
    "firmware.bootloader.bios.useSerial": ({}, True),
    "firmware.bootloader.efi.persistent": (SEV, True),
    "firmware.bootloader.efi.secureBoot": ({"firmware": {"bootloader": {"efi": {}}}, "features": {"smm": {}}}, False),
    "firmware.kernelBoot.container.initrdPath": (KERNEL, "/initrd"),
    "firmware.kernelBoot.container.kernelPath": ({"firmware": {"kernelBoot": {"container": {"image": "a"}}}}, "/a"),
    "firmware.kernelBoot.kernelArgs": (KERNEL, "quiet"),
    "firmware.serial": ({}, "a"),
    "firmware.uuid": ({}, "5d307ca9-b3ef-428c-8861-06e72d69f223"),
    "ioThreads.supplementalPoolThreadCount": ({"ioThreadsPolicy": "supplementalPool"}, 2),
    "ioThreadsPolicy": ({"devices": {"disks": [{"name": "table", "disk": {"bus": "virtio"}}]}}, "shared"),
    "launchSecurity.sev.attestation": (SEV | {"launchSecurity": {"sev": {}}}, {}),
    "launchSecurity.sev.dhCert": (SEV | {"launchSecurity": {"sev": {}}}, "eA=="),
    "launchSecurity.sev.policy.encryptedState": (SEV | {"launchSecurity": {"sev": {}}}, True),
    "launchSecurity.sev.session": (SEV | {"launchSecurity": {"sev": {}}}, "eA=="),
    "launchSecurity.snp": (SEV, {}),
    "launchSecurity.tdx": (SEV, {}),
    "machine.type": ({}, "pc"),
    "memory.guest": ({}, "2Gi"),
    "memory.hugepages.pageSize": ({"memory": {"guest": "1Gi", "hugepages": {}}}, "1Gi"),
    "memory.maxGuest": ({}, "2Gi"),
    "memory.reservedOverhead.addedOverhead": ({"memory": {"guest": FULL["memory"]["guest"]}}, "1Gi"),
    "memory.reservedOverhead.memLock": ({}, "Required"),
    "rebootPolicy": ({}, "Terminate"),
    "resources.limits": ({}, {"memory": "1Mi"}),
    "resources.overcommitGuestOverhead": (FULL, True),
    "resources.requests": ({}, {"memory": "4Ti"}),
}
"""For each field, a domain without the field and a value that changes the design of this domain."""

ELSEWHERE = {
    "firmware.kernelBoot.container.image",
    "firmware.kernelBoot.container.imagePullPolicy",
    "firmware.kernelBoot.container.imagePullSecret",
}
"""Fields that are used to pull the image before the domain is designed."""


def list_fields(struct: type[Model], prefix: str = "") -> list[str]:
    """Return the paths of all leaf fields."""
    paths = []
    for field in structs.fields(struct):
        path = f"{prefix}{field.encode_name}"
        inner = get_struct(field.type)
        paths += list_fields(inner, f"{path}.") if inner is not None and structs.fields(inner) else [path]
    return paths


def get_struct(annotation: Any) -> type[Model] | None:
    options = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    return next((option for option in options if isinstance(option, type) and issubclass(option, Model)), None)


def put(tree: JsonObject, path: str, value: Any) -> JsonObject:
    """Return a copy of the tree in which the value at the path is set."""
    key, _, rest = path.partition(".")
    return {**tree, key: put(tree.get(key) or {}, rest, value) if rest else value}


def test_every_domain_field_has_a_sample() -> None:
    fields = {path for path in list_fields(DomainSpec) if not path.startswith("devices.")}
    assert fields == set(SAMPLES) | ELSEWHERE


@pytest.mark.parametrize("path", sorted(SAMPLES))
def test_every_domain_field_changes_the_design(path: str) -> None:
    base, value = SAMPLES[path]
    base = {"memory": {"guest": "1Gi"}, **base}
    assert design_guest(put(base, path, value), sources=SOURCES) != design_guest(base, sources=SOURCES)

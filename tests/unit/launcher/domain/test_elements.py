"""XML of the parts of a domain, empty and with all fields."""

from collections.abc import Callable
from typing import Any
from xml.etree.ElementTree import Element, tostring

import pytest

from virtshape.launcher.domain.clock import Clock, Timer, render_clock
from virtshape.launcher.domain.domain import LaunchSecurity, render_security
from virtshape.launcher.domain.features import Apic, Enlightenment, Features, Hyperv, Kvm, render_features
from virtshape.launcher.domain.memory import HugePages, Memory, MemoryBacking, render_backing, render_memory
from virtshape.launcher.domain.os import AcpiTable, Entry, Kernel, Loader, Os, SysInfo, render_os, render_sysinfo
from virtshape.launcher.domain.tuning import (
    CpuTune,
    MemoryNode,
    NumaTune,
    Pin,
    Schedule,
    render_cpu_tune,
    render_numa_tune,
)

Render = Callable[[Element, Any], None]

MEMORY = [
    pytest.param(render_memory, Memory(size=1024), '<memory unit="b">1024</memory>', id="memory"),
    pytest.param(
        render_memory,
        Memory(size=1024, maximum=2048),
        '<maxMemory slots="1" unit="b">2048</maxMemory><memory unit="b">1024</memory>',
        id="hotpluggable memory",
    ),
    pytest.param(
        render_backing,
        MemoryBacking(
            hugepages=(HugePages(4096), HugePages(8192, (0, 1))),
            memfd=True,
            shared=True,
            locked=True,
            immediate=True,
            unmerged=True,
        ),
        '<memoryBacking><hugepages><page size="4096" unit="b" /><page size="8192" unit="b" nodeset="0-1" />'
        '</hugepages><nosharepages /><locked /><source type="memfd" /><access mode="shared" />'
        '<allocation mode="immediate" /></memoryBacking>',
        id="backing",
    ),
]
TUNING = [
    pytest.param(
        render_cpu_tune,
        CpuTune(
            vcpu_pins=(Pin(0, (4,)), Pin(1, (5,))),
            emulator_pin=(6, 7),
            iothread_pins=(Pin(1, (4, 5)),),
            realtime=Schedule("0-1,^1"),
        ),
        '<cputune><vcpupin vcpu="0" cpuset="4" /><vcpupin vcpu="1" cpuset="5" /><emulatorpin cpuset="6-7" />'
        '<iothreadpin iothread="1" cpuset="4-5" /><vcpusched vcpus="0-1,^1" scheduler="fifo" priority="1" /></cputune>',
        id="CPU pinning",
    ),
    pytest.param(
        render_numa_tune,
        NumaTune((0, 3), (MemoryNode(0, 0), MemoryNode(1, 3))),
        '<numatune><memory mode="strict" nodeset="0,3" /><memnode cellid="0" mode="strict" nodeset="0" />'
        '<memnode cellid="1" mode="strict" nodeset="3" /></numatune>',
        id="nodes",
    ),
]
BOOT = [
    pytest.param(
        render_os,
        Os(architecture="x86_64", machine="q35"),
        '<os><type arch="x86_64" machine="q35">hvm</type></os>',
        id="machine",
    ),
    pytest.param(
        render_os,
        Os(
            architecture="x86_64",
            machine="q35",
            loader=Loader(code="/code", secure=True, variables_template="/template", variables="/variables"),
            kernel=Kernel(path="/kernel", initrd="/initrd", arguments="quiet & <calm>"),
            acpi_tables=(AcpiTable("slic", "/slic"),),
            boot_menu=10_000,
            bios_on_serial=True,
            smbios=True,
        ),
        '<os><type arch="x86_64" machine="q35">hvm</type>'
        '<loader readonly="yes" secure="yes" type="pflash">/code</loader>'
        '<nvram template="/template">/variables</nvram><kernel>/kernel</kernel><initrd>/initrd</initrd>'
        "<cmdline>quiet &amp; &lt;calm&gt;</cmdline>"
        '<acpi><table type="slic">/slic</table></acpi><bootmenu enable="yes" timeout="10000" />'
        '<bios useserial="yes" /><smbios mode="sysinfo" /></os>',
        id="boot",
    ),
    pytest.param(
        render_os,
        Os(architecture="x86_64", machine="q35", loader=Loader(code="/code", kind="rom")),
        '<os><type arch="x86_64" machine="q35">hvm</type><loader readonly="yes" type="rom">/code</loader></os>',
        id="stateless firmware",
    ),
    pytest.param(
        render_os,
        Os(architecture="x86_64", machine="q35", loader=Loader(code="/code", variables_template="/template")),
        '<os><type arch="x86_64" machine="q35">hvm</type>'
        '<loader readonly="yes" secure="no" type="pflash">/code</loader>'
        '<nvram template="/template" /></os>',
        id="variable store",
    ),
    pytest.param(
        render_sysinfo,
        SysInfo(system=(Entry("serial", "s-1"),), chassis=(Entry("asset", "a"),)),
        '<sysinfo type="smbios"><system><entry name="serial">s-1</entry></system>'
        '<chassis><entry name="asset">a</entry></chassis></sysinfo>',
        id="tables",
    ),
]
FEATURES = [
    pytest.param(render_features, Features(), "<features />", id="no features"),
    pytest.param(
        render_features,
        Features(
            acpi=True,
            apic=Apic(end_of_interrupt=True),
            hyperv=Hyperv(
                enlightenments=(
                    Enlightenment(name="relaxed", on=False),
                    Enlightenment(name="spinlocks", on=True, retries=4096),
                    Enlightenment(name="stimer", on=True, direct=True),
                    Enlightenment(name="vendor_id", on=True, value="me"),
                )
            ),
            kvm=Kvm(hidden=False, hint_dedicated=True),
            pvspinlock=True,
            pmu=False,
            vmport=False,
            smm=True,
        ),
        '<features><acpi /><apic eoi="on" /><hyperv mode="custom"><relaxed state="off" />'
        '<spinlocks state="on" retries="4096" /><stimer state="on"><direct state="on" /></stimer>'
        '<vendor_id state="on" value="me" /></hyperv>'
        '<kvm><hidden state="off" /><hint-dedicated state="on" /></kvm><pvspinlock state="on" />'
        '<pmu state="off" /><vmport state="off" /><smm state="on" /></features>',
        id="features",
    ),
    pytest.param(
        render_features,
        Features(apic=Apic(), hyperv=Hyperv(mode="passthrough")),
        '<features><apic /><hyperv mode="passthrough" /></features>',
        id="all Hyper-V features",
    ),
]
CLOCK = [
    pytest.param(render_clock, Clock(), '<clock offset="utc" />', id="UTC"),
    pytest.param(
        render_clock,
        Clock(offset="timezone", timezone="Europe/Rome"),
        '<clock offset="timezone" timezone="Europe/Rome" />',
        id="a time zone",
    ),
    pytest.param(
        render_clock,
        Clock(
            adjustment="reset",
            timers=(
                Timer(name="rtc", present=True, tick_policy="catchup", track="guest"),
                Timer(name="hpet", present=False),
                Timer(name="tsc", frequency=1000),
            ),
        ),
        '<clock offset="utc" adjustment="reset"><timer name="rtc" tickpolicy="catchup" track="guest" present="yes" />'
        '<timer name="hpet" present="no" /><timer name="tsc" frequency="1000" /></clock>',
        id="timers",
    ),
]
SECURITY = [
    pytest.param(render_security, LaunchSecurity(kind="tdx"), '<launchSecurity type="tdx" />', id="TDX"),
    pytest.param(
        render_security,
        LaunchSecurity(kind="sev", policy=5, dh_cert="Y2VydA==", session="c2Vzc2lvbg=="),
        '<launchSecurity type="sev"><policy>0x0005</policy><dhCert>Y2VydA==</dhCert>'
        "<session>c2Vzc2lvbg==</session></launchSecurity>",
        id="SEV",
    ),
]


@pytest.mark.parametrize(("render", "part", "xml"), [*MEMORY, *TUNING, *BOOT, *FEATURES, *CLOCK, *SECURITY])
def test_part_of_a_domain_is_rendered_as_xml(render: Render, part: object, xml: str) -> None:
    domain = Element("domain")
    render(domain, part)
    assert "".join(tostring(child, encoding="unicode") for child in domain) == xml

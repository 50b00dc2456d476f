"""The complete domain as XML."""

from virtshape.launcher.domain.clock import Clock
from virtshape.launcher.domain.cpu import Cpu, Vcpus
from virtshape.launcher.domain.devices.devices import Devices
from virtshape.launcher.domain.domain import Domain, LaunchSecurity, Metadata, render_domain_xml
from virtshape.launcher.domain.features import Features
from virtshape.launcher.domain.memory import Memory, MemoryBacking
from virtshape.launcher.domain.os import Entry, Os, SysInfo
from virtshape.launcher.domain.tuning import CpuTune, NumaTune, Pin

UUID = "5d307ca9-b3ef-428c-8861-06e72d69f223"

SMALL = Domain(
    type="qemu",
    name="default_guest",
    memory=Memory(size=1024),
    vcpus=Vcpus(current=1, maximum=1),
    os=Os(architecture="x86_64", machine="pc-q35-7.2"),
    features=Features(),
    cpu=Cpu(mode="host-model"),
    clock=Clock(),
    devices=Devices(emulator="/usr/bin/qemu"),
)
SMALL_XML = """\
<domain type="qemu">
  <name>default_guest</name>
  <memory unit="b">1024</memory>
  <vcpu placement="static">1</vcpu>
  <os>
    <type arch="x86_64" machine="pc-q35-7.2">hvm</type>
  </os>
  <features />
  <cpu mode="host-model">
    <topology sockets="1" cores="1" threads="1" />
  </cpu>
  <clock offset="utc" />
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>restart</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <emulator>/usr/bin/qemu</emulator>
  </devices>
</domain>
"""

LARGE = Domain(
    type="kvm",
    name="default_guest",
    uuid=UUID,
    title="default/guest",
    metadata=Metadata(uid="u-1", grace_period=30),
    memory=Memory(size=1024),
    backing=MemoryBacking(locked=True),
    vcpus=Vcpus(current=1, maximum=1),
    iothreads=2,
    cpu_tune=CpuTune(vcpu_pins=(Pin(0, (4,)),)),
    numa_tune=NumaTune((0,)),
    sysinfo=SysInfo(system=(Entry("uuid", UUID),)),
    os=Os(architecture="x86_64", machine="pc-q35-7.2", smbios=True),
    features=Features(acpi=True),
    cpu=Cpu(mode="host-passthrough"),
    clock=Clock(),
    on_reboot="destroy",
    devices=Devices(emulator="/usr/bin/qemu"),
    security=LaunchSecurity(kind="sev", policy=1),
    arguments=("-fw_cfg", 'name=config,string={"a": 1,, "b": 2}'),
)
LARGE_XML = f"""\
<domain type="kvm" xmlns:qemu="http://libvirt.org/schemas/domain/qemu/1.0">
  <name>default_guest</name>
  <uuid>{UUID}</uuid>
  <title>default/guest</title>
  <metadata>
    <kubevirt xmlns="http://kubevirt.io">
      <uid>u-1</uid>
      <graceperiod>
        <deletionGracePeriodSeconds>30</deletionGracePeriodSeconds>
      </graceperiod>
    </kubevirt>
  </metadata>
  <memory unit="b">1024</memory>
  <memoryBacking>
    <locked />
  </memoryBacking>
  <vcpu placement="static">1</vcpu>
  <iothreads>2</iothreads>
  <cputune>
    <vcpupin vcpu="0" cpuset="4" />
  </cputune>
  <numatune>
    <memory mode="strict" nodeset="0" />
  </numatune>
  <sysinfo type="smbios">
    <system>
      <entry name="uuid">{UUID}</entry>
    </system>
  </sysinfo>
  <os>
    <type arch="x86_64" machine="pc-q35-7.2">hvm</type>
    <smbios mode="sysinfo" />
  </os>
  <features>
    <acpi />
  </features>
  <cpu mode="host-passthrough">
    <topology sockets="1" cores="1" threads="1" />
  </cpu>
  <clock offset="utc" />
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>destroy</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <emulator>/usr/bin/qemu</emulator>
  </devices>
  <launchSecurity type="sev">
    <policy>0x0001</policy>
  </launchSecurity>
  <qemu:commandline>
    <qemu:arg value="-fw_cfg" />
    <qemu:arg value="name=config,string={{&quot;a&quot;: 1,, &quot;b&quot;: 2}}" />
  </qemu:commandline>
</domain>
"""


def test_absent_parts_of_a_domain_are_omitted() -> None:
    assert render_domain_xml(SMALL) == SMALL_XML


def test_domain_elements_are_rendered_in_the_order_of_libvirt() -> None:
    assert render_domain_xml(LARGE) == LARGE_XML

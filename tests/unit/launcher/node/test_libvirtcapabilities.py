from virtshape.launcher.node.capabilityquery import LibvirtCapabilities, render_host_model
from virtshape.launcher.node.libvirtcapabilities import Capability, parse_capabilities

CAPABILITIES = """
<capabilities>
  <guest>
    <arch name="i686"><machine maxCpus="255">pc-i440fx-6.2</machine></arch>
  </guest>
  <guest>
    <arch name="x86_64">
      <machine maxCpus="288">pc-q35-7.2</machine>
      <machine canonical="pc-q35-7.2" maxCpus="288">q35</machine>
    </arch>
  </guest>
</capabilities>
"""
DOMAIN = """
<domainCapabilities>
  <cpu>
    <mode name="host-model" supported="yes">
      <model fallback="forbid">EPYC</model><feature policy="require" name="aes"/>
    </mode>
    <mode name="custom" supported="yes">
      <model usable="yes">Westmere</model><model usable="no">Haswell</model><model usable="unknown">Odd</model>
    </mode>
  </cpu>
  <devices>
    <video supported="yes"><enum name="modelType"><value>vga</value><value>virtio</value></enum></video>
    <redirdev supported="yes"><enum name="bus"><value>usb</value></enum></redirdev>
  </devices>
  <features><sev supported="yes"><maxESGuests>4</maxESGuests></sev></features>
</domainCapabilities>
"""
CPU = '<cpu><model>EPYC</model><feature policy="require" name="aes"/><feature policy="disable" name="vme"/></cpu>'


def test_libvirt_capabilities_are_parsed() -> None:
    found = LibvirtCapabilities(
        kvm=True, libvirt=9_000_000, qemu=7_002_000, capabilities=CAPABILITIES, domains=(DOMAIN,), cpu=CPU
    )
    assert parse_capabilities(found, "amd64") == Capability(
        kvm=True,
        libvirt=9_000_000,
        qemu=7_002_000,
        machine_types=frozenset({"pc-q35-7.2", "q35"}),
        machine_aliases={"q35": "pc-q35-7.2"},
        max_vcpus={"pc-q35-7.2": 288, "q35": 288},
        cpu_models=frozenset({"Westmere"}),
        partial_cpu_models=frozenset({"Haswell", "Odd"}),
        cpu_features=frozenset({"aes"}),
        video_models=frozenset({"vga", "virtio"}),
        usb_redirection=True,
        sev=True,
        sev_es=True,
    )


def test_capability_missing_in_libvirt_xml_is_unset() -> None:
    bare = "<domainCapabilities><features><sev supported='no'/></features></domainCapabilities>"
    found = LibvirtCapabilities(kvm=False, libvirt=1, qemu=2, capabilities="<capabilities/>", domains=(bare,))
    assert parse_capabilities(found, "amd64") == Capability(libvirt=1, qemu=2)


def test_host_cpu_model_is_rendered_as_libvirt_xml() -> None:
    assert "".join(render_host_model(DOMAIN).split()) == (
        '<cpu><modelfallback="forbid">EPYC</model><featurepolicy="require"name="aes"/></cpu>'
    )
    assert render_host_model("<domainCapabilities/>") == ""

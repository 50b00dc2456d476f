from virtshape.launcher.guest.inspection import Inspection, inspect_domain
from virtshape.launcher.report import Interface, Volume

LIVE = """
<domain type="qemu" id="1">
  <name>default_vm</name>
  <os><type arch="x86_64" machine="pc-q35-7.2">hvm</type></os>
  <devices>
    <disk type="file" device="disk"><target dev="vda" bus="virtio"/><alias name="ua-root"/></disk>
    <disk type="file" device="cdrom"><target dev="sda" bus="sata"/><alias name="ua-seed"/></disk>
    <interface type="user">
      <mac address="52:54:00:aa:bb:cc"/><driver queues="2"/><alias name="ua-default"/>
    </interface>
    <interface type="bridge"><mac address="52:54:00:aa:bb:cd"/><link state="down"/><alias name="ua-other"/></interface>
    <channel type="unix"><target type="virtio" name="org.qemu.guest_agent.0" state="STATE"/></channel>
  </devices>
</domain>
"""


def test_domain_xml_is_parsed_for_the_report() -> None:
    assert inspect_domain(LIVE, {"default": ("10.0.2.15",)}) == Inspection(
        machine="pc-q35-7.2",
        interfaces=(
            Interface(name="default", mac="52:54:00:aa:bb:cc", addresses=("10.0.2.15",), queues=2),
            Interface(name="other", mac="52:54:00:aa:bb:cd", link_up=False),
        ),
        volumes=(Volume(name="root", target="vda"), Volume(name="seed", target="sda")),
        agent=False,
    )


def test_connected_guest_agent_is_detected() -> None:
    assert inspect_domain(LIVE.replace("STATE", "connected"), {}).agent

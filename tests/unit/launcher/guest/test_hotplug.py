import pytest

from virtshape.launcher.guest.hotplug import MemoryRange, find_memory_range, render_memory_device

ADDRESS = {"type": "pci", "bus": "0x07"}
PLAIN = "<domain><memory unit='KiB'>1048576</memory><devices/></domain>"
ROOMY = "<domain><maxMemory slots='1' unit='KiB'>4194304</maxMemory><memory unit='KiB'>1048576</memory></domain>"
GROWN = """
<domain>
  <maxMemory slots='1' unit='KiB'>4194304</maxMemory>
  <memory unit='KiB'>4194304</memory>
  <devices>
    <memory model='virtio-mem'>
      <target><size unit='KiB'>3145728</size><requested unit='KiB'>1048576</requested></target>
      <alias name='virtiomem0'/>
      <address type='pci' bus='0x07'/>
    </memory>
  </devices>
</domain>
"""


@pytest.mark.parametrize(
    ("xml", "memory_range"),
    [
        pytest.param(PLAIN, None, id="none"),
        pytest.param(ROOMY, MemoryRange(1048576, 4194304), id="not used yet"),
        pytest.param(GROWN, MemoryRange(1048576, 4194304, "virtiomem0", ADDRESS), id="used in part"),
    ],
)
def test_hotpluggable_memory_range_is_read_from_domain_xml(xml: str, memory_range: MemoryRange | None) -> None:
    assert find_memory_range(xml) == memory_range


def test_memory_is_hotplugged_in_multiples_of_the_block_size() -> None:
    assert render_memory_device(MemoryRange(1048576, 4194304, "virtiomem0", ADDRESS), 2099199) == (
        '<memory model="virtio-mem"><target><size unit="KiB">3145728</size><node>0</node><block unit="KiB">2048</block>'
        '<requested unit="KiB">1048576</requested></target>'
        '<alias name="virtiomem0" /><address type="pci" bus="0x07" /></memory>'
    )

import pytest
from tests.support.guests import build_guest

from virtshape.api.codec import encode
from virtshape.api.model import JsonObject
from virtshape.launcher.guest.libvirtdriver import can_skip_cpu_probe
from virtshape.launcher.host import Host
from virtshape.launcher.launchrequest import LaunchRequest


@pytest.mark.parametrize(
    ("domain", "host", "skip_cpu_probe"),
    [
        pytest.param({}, Host(), True, id="plain guest"),
        pytest.param({"features": {"acpi": {}}, "cpu": {"cores": 2}}, Host(), True, id="other features"),
        pytest.param({}, Host(kvm=True), False, id="KVM"),
        pytest.param({"features": {"hyperv": {"relaxed": {}}}}, Host(), False, id="Hyper-V"),
        pytest.param({"features": {"hypervPassthrough": {"enabled": True}}}, Host(), False, id="all of Hyper-V"),
        pytest.param({"cpu": {"features": [{"name": "avx2"}]}}, Host(), False, id="CPU feature"),
    ],
)
def test_only_plain_emulated_guests_skip_the_cpu_probe(domain: JsonObject, host: Host, skip_cpu_probe: bool) -> None:
    assert can_skip_cpu_probe(encode(LaunchRequest(vmi=build_guest("uid", domain), host=host))) == skip_cpu_probe

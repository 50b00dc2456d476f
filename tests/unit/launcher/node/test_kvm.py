from pathlib import Path

import pytest

from virtshape.launcher.node.kvm import does_kvm_work

CAPABLE = "processor : 0\nflags\t\t: fpu vmx sse\n\nprocessor : 1\nflags\t\t: fpu vmx sse\n"


@pytest.mark.parametrize(
    ("cpuinfo", "device", "works"),
    [
        pytest.param(CAPABLE, True, True, id="Intel's"),
        pytest.param(CAPABLE.replace("vmx", "svm"), True, True, id="AMD's"),
        pytest.param("processor : 0\nFeatures\t: fp asimd\n", True, True, id="ARM says nothing of it"),
        pytest.param(CAPABLE.replace("vmx", "de"), True, False, id="a device that guests die in"),
        pytest.param(CAPABLE, False, False, id="no device"),
    ],
)
def test_kvm_works_with_a_device_and_a_cpu_for_it(tmp_path: Path, cpuinfo: str, device: bool, works: bool) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    if device:
        (tmp_path / "kvm").touch()
    assert does_kvm_work(tmp_path / "kvm", tmp_path / "cpuinfo") == works

import subprocess
import sys

import pytest

from virtshape.api.architecture import get_architecture
from virtshape.launcher.node.requirements import find_missing_packages

EMULATORS = {"amd64": "qemu-system-x86", "arm64": "qemu-system-arm", "s390x": "qemu-system-misc"}


@pytest.mark.parametrize(
    ("programs", "driver", "binding", "missing"),
    [
        pytest.param(True, True, True, [], id="nothing"),
        pytest.param(False, True, True, ["QEMU", "qemu-utils"], id="QEMU"),
        pytest.param(True, False, True, ["libvirt-daemon-driver-qemu"], id="libvirt driver"),
        pytest.param(True, True, False, ["virtshape[guests]"], id="Python binding"),
    ],
)
def test_package_of_a_missing_guest_requirement_is_named(
    programs: bool, driver: bool, binding: bool, missing: list[str]
) -> None:
    found = find_missing_packages(lambda name: name if programs else None, lambda: driver, lambda: binding)
    assert found == [EMULATORS[get_architecture()] if name == "QEMU" else name for name in missing]


IMPORT_ALL = """
import importlib, pkgutil, sys, virtshape
sys.modules["libvirt"] = None
for module in pkgutil.walk_packages(virtshape.__path__, "virtshape."):
    if not module.name.startswith("virtshape.launcher.guest.") and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def test_only_launcher_processes_need_the_libvirt_binding() -> None:
    ran = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")

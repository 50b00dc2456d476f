from typing import Any

import pytest

from virtshape.catalog import preferences

PREFIX = "instancetype.kubevirt.io/"
LINUX_DEVICES = {"preferredDiskBus": "virtio", "preferredInterfaceModel": "virtio", "preferredRng": {}}


def test_catalog_preference_is_composed_of_its_fragments() -> None:
    assert preferences.describe("fedora")["spec"] == {
        "annotations": {"vm.kubevirt.io/os": "linux"},
        "devices": LINUX_DEVICES,
        "features": {"preferredSmm": {}},
        "firmware": {"preferredEfi": {"secureBoot": True}},
        "preferredArchitecture": "amd64",
        "requirements": {"architecture": "amd64", "cpu": {"guest": 1}, "memory": {"guest": "2Gi"}},
    }


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        pytest.param("linux", {"os-type": "linux", "vendor": "kubevirt.io"}, id="without requirements"),
        pytest.param(
            "windows.11",
            {"os-type": "windows", "required-cpu": "2", "required-memory": "4Gi", "vendor": "kubevirt.io"},
            id="with requirements",
        ),
        pytest.param(
            "rhel.9.arm64",
            {
                "arch": "arm64",
                "os-type": "linux",
                "preferred-architecture": "arm64",
                "required-architecture": "arm64",
                "required-cpu": "1",
                "required-memory": "1.5Gi",
                "vendor": "kubevirt.io",
            },
            id="for one architecture",
        ),
    ],
)
def test_preference_labels_describe_guest_and_requirements(name: str, labels: dict[str, str]) -> None:
    expected = {f"{PREFIX}{key}": value for key, value in labels.items()}
    assert preferences.describe(name)["metadata"]["labels"] == expected


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        ("windows.2k3", {"preferredDiskBus": "sata", "preferredInterfaceModel": "rtl8139"}),
        ("windows.2k8", {"preferredDiskBus": "sata", "preferredInterfaceModel": "e1000"}),
        ("windows.2k16", {"preferredDiskBus": "sata", "preferredInterfaceModel": "e1000e"}),
        (
            "windows.2k8.virtio",
            {
                "preferredDiskBus": "virtio",
                "preferredInterfaceModel": "virtio",
                "preferredInputBus": "virtio",
                "preferredInputType": "tablet",
                "preferredVideoType": "virtio",
            },
        ),
    ],
)
def test_windows_preference_has_only_devices_with_windows_drivers(name: str, devices: dict[str, Any]) -> None:
    expected = {"preferredAutoattachInputDevice": True, **devices}
    assert preferences.describe(name)["spec"]["devices"] == expected


def test_windows_too_old_for_virtio_drivers_has_no_virtio_variant() -> None:
    assert not {"windows.xp.virtio", "windows.2k3.virtio"} & set(preferences.names())


def test_preference_titles_are_unique() -> None:
    titles = [guest.title for guest in preferences.PREFERENCES.values()]
    assert all(titles)
    assert len(set(titles)) == len(titles)

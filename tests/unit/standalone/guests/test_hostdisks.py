"""Host disks: paths that the configuration allows, and messages for other paths."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.instances import build_vmi

from virtshape.controllers.storage.files import NotReadyError
from virtshape.standalone.guests.hostdisks import find_host_disks


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "disks").mkdir()
    (tmp_path / "disks" / "old.img").write_bytes(bytes(4096))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "config.yaml").write_text(f"hostDisks: {{roots: [{tmp_path}/disks]}}")
    return tmp_path / "data"


def find(data: Path, path: Path, **disk: Any) -> dict[str, str]:
    volumes = [
        {"name": "seed", "cloudInitNoCloud": {"userData": "x"}},
        {"name": "disk", "hostDisk": {"path": str(path), "type": "Disk", **disk}},
    ]
    return find_host_disks(build_vmi(volumes=volumes), data)


def test_host_disk_below_an_allowed_directory_is_found_or_created(data: Path) -> None:
    disks = data.parent / "disks"
    assert find(data, disks / "old.img") == {"disk": str(disks / "old.img")}
    assert find(data, disks / "new.img", type="DiskOrCreate", capacity="1Mi") == {"disk": str(disks / "new.img")}
    assert (disks / "new.img").stat().st_size == 1 << 20


def test_configuration_is_not_read_without_host_disks(data: Path) -> None:
    (data / "config.yaml").write_text("nonsense: [")
    assert find_host_disks(build_vmi(), data) == {}


@pytest.mark.parametrize(
    ("text", "path", "reason", "message"),
    [
        (None, "/etc/passwd", "HostDiskRefused", "spec.volumes[1].hostDisk.path: /etc/passwd is not in a directory"),
        ("{}", "/etc/passwd", "HostDiskRefused", "spec.volumes[1].hostDisk: this host allows no host disks"),
        (None, "{disks}/none.img", "HostDiskRefused", "spec.volumes[1].hostDisk.path: file"),
        (None, "{disks}/old.img/x", "HostDiskRefused", "does not exist"),
        ("hostDisk: {}", "/x", "ConfigurationInvalid", "hostDisk"),
    ],
    ids=["outside", "no directory allowed", "missing", "below a file", "configuration"],
)
def test_refused_host_disk_is_reported_with_the_reason(
    data: Path, text: str | None, path: str, reason: str, message: str
) -> None:
    if text is not None:
        (data / "config.yaml").write_text(text)
    with pytest.raises(NotReadyError) as caught:
        find(data, Path(path.format(disks=data.parent / "disks")))
    assert (caught.value.reason, message in caught.value.message) == (reason, True), caught.value.message

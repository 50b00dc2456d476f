import pytest
from tests.support.commands import call_virtctl

NAME = "--volume-name=data"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["addvolume", "web"], "Missing option '--volume-name'."),
        (["removevolume", "web"], "Missing option '--volume-name'."),
        (["addvolume", "web", NAME, "--bus", "sata"], "Invalid value for '--bus'"),
        (["addvolume", "web", NAME, "--disk-type", "cdrom"], "Invalid value for '--disk-type'"),
        (["addvolume", "web", NAME, "--cache", "unsafe"], "Invalid value for '--cache'"),
        (["addvolume", NAME], "Missing argument 'NAME'."),
    ],
    ids=["add without a volume", "remove without a volume", "bus", "disk type", "cache mode", "no VM"],
)
def test_invalid_volume_command_flags_are_rejected_without_a_server(arguments: list[str], error: str) -> None:
    outcome = call_virtctl(*arguments)
    assert outcome.status == 2
    assert outcome.err.startswith(f"error: {error}")


def test_lun_volume_requires_the_scsi_bus() -> None:
    outcome = call_virtctl("addvolume", "web", NAME, "--disk-type", "lun", "--bus", "virtio")
    assert outcome.status == 1
    assert "Invalid bus type 'virtio' for LUN disk. Only 'scsi' bus is supported." in outcome.err

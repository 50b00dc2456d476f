"""Channels into the guest (console, agent, metrics, USB redirection) and shared directories."""

import pytest
from tests.support.devices import design_with, list_refusals

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.devices.console import Channel, Redirection, Serial
from virtshape.launcher.domain.devices.disk import Filesystem
from virtshape.launcher.host import Host

AGENT = Channel("org.qemu.guest_agent.0", "/guest/agent.sock")
METRICS = Channel("org.github.vhostmd.1", "/guest/metrics.sock")


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        pytest.param({}, (Serial("/guest/serial0.sock", "/guest/serial0.log"),), id="with a log"),
        pytest.param({"logSerialConsole": False}, (Serial("/guest/serial0.sock"),), id="without a log"),
        pytest.param({"autoattachSerialConsole": False}, (), id="none"),
    ],
)
def test_serial_console_and_its_log_are_attached_unless_disabled(
    devices: JsonObject, expected: tuple[Serial, ...]
) -> None:
    assert design_with(devices).devices.serials == expected


def test_agent_channel_is_always_present() -> None:
    assert design_with({"autoattachSerialConsole": False}).devices.channels == (AGENT,)


def test_downward_metrics_require_host_support() -> None:
    assert design_with({"downwardMetrics": {}}, host=Host(downward_metrics=True)).devices.channels == (AGENT, METRICS)
    refusals = list_refusals(design_with({"downwardMetrics": {}}))
    assert refusals == {"downwardMetrics": "downward metrics are not supported on this host"}


def test_client_passthrough_adds_four_usb_redirection_devices() -> None:
    design = design_with({"clientPassthrough": {}})
    assert design.devices.redirections == tuple(Redirection(f"/guest/usb{port}.sock") for port in range(4))
    refusals = list_refusals(design_with({"clientPassthrough": {}}, host=Host(usb_redirection=False)))
    assert refusals == {"clientPassthrough": "USB redirection is not supported by QEMU on this host"}


def test_virtiofs_requires_host_support() -> None:
    devices = {"filesystems": [{"name": "data", "virtiofs": {}}]}
    design = design_with(devices, host=Host(virtiofs=True))
    assert design.devices.filesystems == (Filesystem("data", "/guest/data.virtiofs.sock"),)
    assert (design.shared_memory, design.refusals) == (True, ())
    reason = "virtiofs is not supported on this host: use a disk"
    assert list_refusals(design_with(devices)) == {"filesystems[0].virtiofs": reason}


@pytest.mark.parametrize(
    ("volume", "refused"),
    [
        pytest.param({"cloudInitConfigDrive": {"userData": "x"}}, True, id="with a config drive"),
        pytest.param({"cloudInitNoCloud": {"userData": "x"}}, False, id="without"),
    ],
)
def test_device_tags_are_refused_only_with_a_config_drive(volume: JsonObject, refused: bool) -> None:
    devices = {
        "disks": [{"name": "init", "cdrom": {}, "tag": "a"}],
        "interfaces": [{"name": "default", "masquerade": {}, "tag": "b"}],
    }
    design = design_with(devices, volumes=[{"name": "init", **volume}], networks=[{"name": "default", "pod": {}}])
    reason = "is not supported: the config drive is written before device addresses are known"
    expected = dict.fromkeys(("disks[0].tag", "interfaces[0].tag"), reason) if refused else {}
    assert {field: why for field, why in list_refusals(design).items() if field.endswith("tag")} == expected

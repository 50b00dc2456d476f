"""TPM, RNG, watchdog, panic devices, balloon and vsock."""

import pytest
from tests.support.devices import design_with, list_refusals

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.devices.platform import Balloon, Panic, Rng, Tpm, Vsock, Watchdog
from virtshape.launcher.host import Host

VIRTIO = "virtio-non-transitional"


@pytest.mark.parametrize(
    ("tpm", "expected"),
    [
        pytest.param(None, None, id="none"),
        pytest.param({}, Tpm("tpm-tis"), id="ephemeral"),
        pytest.param({"persistent": True}, Tpm("tpm-crb", persistent=True), id="persistent"),
        pytest.param({"enabled": False}, None, id="disabled"),
    ],
)
def test_tpm_is_present_if_requested(tpm: JsonObject | None, expected: Tpm | None) -> None:
    design = design_with({"tpm": tpm}, host=Host(tpm=True))
    assert (design.devices.tpm, design.refusals) == (expected, ())


def test_tpm_is_refused_if_it_cannot_be_emulated() -> None:
    assert list_refusals(design_with({"tpm": {}})) == {"tpm": "this host cannot emulate a TPM: install swtpm"}
    assert list_refusals(design_with({"tpm": {"enabled": False}})) == {}


def test_rng_is_present_if_requested() -> None:
    assert (design_with().devices.rng, design_with({"rng": {}}).devices.rng) == (None, Rng(VIRTIO))


@pytest.mark.parametrize(
    ("watchdog", "architecture", "expected", "refusals"),
    [
        pytest.param(None, "amd64", None, {}, id="none"),
        pytest.param({"i6300esb": {}}, "amd64", Watchdog("w", "i6300esb", "reset"), {}, id="resets"),
        pytest.param(
            {"i6300esb": {"action": "poweroff"}}, "amd64", Watchdog("w", "i6300esb", "poweroff"), {}, id="powers off"
        ),
        pytest.param(
            {"diag288": {"action": "shutdown"}}, "s390x", Watchdog("w", "diag288", "shutdown"), {}, id="on s390x"
        ),
        pytest.param(
            {"diag288": {}},
            "amd64",
            Watchdog("w", "diag288", "reset"),
            {"watchdog.diag288": "is supported only for s390x guests, not amd64"},
            id="of another architecture",
        ),
        pytest.param({}, "amd64", None, {"watchdog": "has no model: add i6300esb"}, id="without a model"),
    ],
)
def test_watchdog_model_depends_on_the_architecture(
    watchdog: JsonObject | None, architecture: str, expected: Watchdog | None, refusals: dict[str, str]
) -> None:
    given = None if watchdog is None else {"name": "w", **watchdog}
    design = design_with({"watchdog": given}, architecture=architecture)
    assert (design.devices.watchdog, list_refusals(design)) == (expected, refusals)


@pytest.mark.parametrize(
    ("model", "architecture", "libvirt", "expected", "refusals"),
    [
        pytest.param(None, "amd64", 9_000_000, "isa", {}, id="of the architecture"),
        pytest.param("hyperv", "amd64", 9_000_000, "hyperv", {}, id="for Windows"),
        pytest.param(None, "s390x", 9_000_000, "s390", {}, id="s390x"),
        pytest.param(None, "arm64", 9_001_000, "pvpanic", {}, id="arm64"),
        pytest.param(
            "pvpanic",
            "amd64",
            9_000_000,
            "pvpanic",
            {"panicDevices[0].model": "pvpanic needs libvirt 9.1: use isa"},
            id="too new",
        ),
        pytest.param(
            None,
            "arm64",
            9_000_000,
            "pvpanic",
            {"panicDevices[0].model": "pvpanic needs libvirt 9.1"},
            id="too new, without an alternative",
        ),
    ],
)
def test_panic_device_model_is_requested_or_depends_on_the_architecture(
    model: str | None, architecture: str, libvirt: int, expected: str, refusals: dict[str, str]
) -> None:
    host = Host(libvirt=libvirt)
    design = design_with({"panicDevices": [{"model": model}]}, host=host, architecture=architecture)
    assert (design.devices.panics, list_refusals(design)) == ((Panic(expected),), refusals)


@pytest.mark.parametrize(
    ("devices", "domain", "expected"),
    [
        pytest.param(
            {}, {}, Balloon(model=VIRTIO, stats_period=10, free_page_reporting=True), id="free page reporting"
        ),
        pytest.param({"autoattachMemBalloon": False}, {}, Balloon(model="none"), id="none"),
        pytest.param(
            {},
            {"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}},
            Balloon(model=VIRTIO, stats_period=10),
            id="hugepages",
        ),
        pytest.param(
            {},
            {"cpu": {"dedicatedCpuPlacement": True}},
            Balloon(model=VIRTIO, stats_period=10),
            id="dedicated CPUs",
        ),
    ],
)
def test_balloon_reports_free_pages_unless_memory_is_reserved(
    devices: JsonObject, domain: JsonObject, expected: Balloon
) -> None:
    assert design_with(devices, domain=domain).devices.balloon == expected


def test_vsock_is_present_if_requested() -> None:
    host = Host(vsock=True)
    given = {"autoattachVSOCK": True}
    assert design_with(host=host).devices.vsock is None
    assert design_with(given, host=host).devices.vsock == Vsock(VIRTIO)
    assert design_with(given, host=host, status={"VSOCKCID": 7}).devices.vsock == Vsock(VIRTIO, 7)
    reason = "this host has no vsock: load the kernel module vhost_vsock"
    assert list_refusals(design_with(given)) == {"autoattachVSOCK": reason}

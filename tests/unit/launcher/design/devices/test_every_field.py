"""Every field of devices and networks changes the design, or is listed here with a reason."""

from typing import Any

import pytest
from msgspec.structs import fields
from tests.support.devices import MEDIATED, POD_NETWORK, build_disk, build_interface, build_volumes, design_with

from virtshape.api.kubevirt import devices as api
from virtshape.api.kubevirt import network
from virtshape.api.model import JsonObject
from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.host import Host

HOST = Host(
    tpm=True,
    vsock=True,
    virtiofs=True,
    tap=True,
    bridges={"blue": "br1", "red": "br2"},
    devices={"example.com/a": (MEDIATED,), "example.com/b": ("1:5",)},
)
BLOCK = Source(path="/dev/root", kind="block", direct_io=True)
STRUCTS = (
    api.Devices,
    api.Disk,
    api.DiskTarget,
    api.CDRomTarget,
    api.LunTarget,
    api.BlockSize,
    api.CustomBlockSize,
    api.Filesystem,
    api.GPU,
    api.VGPUOptions,
    api.VGPUDisplayOptions,
    api.HostDevice,
    api.Input,
    api.PanicDevice,
    api.SoundDevice,
    api.TPMDevice,
    api.VideoDevice,
    api.Watchdog,
    api.I6300ESBWatchdog,
    api.Diag288Watchdog,
    network.Interface,
    network.DHCPOptions,
    network.Port,
    network.PortRange,
    network.Network,
    network.PodNetwork,
    network.MultusNetwork,
    network.PluginBinding,
)

WITHOUT_EFFECT = {
    "Devices.autoattachPodInterface": "an instance has the interface by then, or it has none",
    "Filesystem.virtiofs": "virtiofs is the only way to share",
    "GPU.requestName": "belongs to a claim, which is refused",
    "HostDevice.requestName": "belongs to a claim, which is refused",
    "Input.type": "there is one type",
    "Port.name": "is for services to refer to",
    "MultusNetwork.default": "says which network is the first, and each interface names its own",
    "PluginBinding.name": "is refused, whatever it is called",
}

Change = tuple[dict[str, Any], dict[str, Any]]


def change(before: JsonObject, after: JsonObject, **both: Any) -> Change:
    """Return two instances that differ only in their devices."""
    return {"devices": before, **both}, {"devices": after, **both}


def of_devices(after: JsonObject, before: JsonObject | None = None) -> Change:
    return change(before or {}, {**(before or {}), **after}, **POD_NETWORK, **build_volumes("root"))


def of_disk(after: JsonObject, before: JsonObject | None = None) -> Change:
    return change(build_disk(**(before or {})), build_disk(**{**(before or {}), **after}), **build_volumes("root"))


def of_lun(**lun: Any) -> Change:
    return of_disk({"lun": lun}, {"lun": {}})


def of_card(after: JsonObject, before: JsonObject | None = None) -> Change:
    return change(build_interface(**(before or {})), build_interface(**{**(before or {}), **after}), **POD_NETWORK)


def of_options(**options: Any) -> Change:
    return of_card({"dhcpOptions": options})


def of_network(before: JsonObject, after: JsonObject) -> Change:
    one, other = (
        {"devices": build_interface(bridge={}), "networks": [{"name": "default", **net}]} for net in (before, after)
    )
    return one, other


def of_item(family: str, after: JsonObject, before: JsonObject | None = None) -> Change:
    first = {"name": "a", **(before or {})}
    return of_devices({family: [{**first, **after}]}, {family: [first]})


def of_display(**display: Any) -> Change:
    return of_item("gpus", {"virtualGPUOptions": {"display": display}}, {"deviceName": "example.com/a"})


CONFIG_DRIVE = {"volumes": [{"name": "root", "cloudInitConfigDrive": {"userData": "x"}}]}
SOUND: JsonObject = {"sound": {"name": "a"}}
DOG: JsonObject = {"watchdog": {"name": "a", "i6300esb": {}}}
OTHER_DOG: JsonObject = {"watchdog": {"name": "a", "diag288": {}}}
TABLET: JsonObject = {"type": "tablet"}
GPU: JsonObject = {"deviceName": "example.com/a"}
VIRTIO: JsonObject = {"disk": {"bus": "virtio"}}
CUSTOM: JsonObject = {"logical": 512, "physical": 4096}

CHANGES: dict[str, Change] = {
    "Devices.disks": of_devices(build_disk()),
    "Devices.interfaces": of_devices(build_interface()),
    "Devices.filesystems": of_devices({"filesystems": [{"name": "root", "virtiofs": {}}]}),
    "Devices.gpus": of_devices({"gpus": [{"name": "a", **GPU}]}),
    "Devices.hostDevices": of_devices({"hostDevices": [{"name": "a", **GPU}]}),
    "Devices.inputs": of_devices({"inputs": [{"name": "a", **TABLET}]}),
    "Devices.panicDevices": of_devices({"panicDevices": [{}]}),
    "Devices.video": of_devices({"video": {"type": "virtio"}}),
    "Devices.sound": of_devices(SOUND),
    "Devices.rng": of_devices({"rng": {}}),
    "Devices.tpm": of_devices({"tpm": {}}),
    "Devices.watchdog": of_devices(DOG),
    "Devices.clientPassthrough": of_devices({"clientPassthrough": {}}),
    "Devices.downwardMetrics": of_devices({"downwardMetrics": {}}),
    "Devices.autoattachGraphicsDevice": of_devices({"autoattachGraphicsDevice": False}),
    "Devices.autoattachInputDevice": of_devices({"autoattachInputDevice": True}),
    "Devices.autoattachMemBalloon": of_devices({"autoattachMemBalloon": False}),
    "Devices.autoattachSerialConsole": of_devices({"autoattachSerialConsole": False}),
    "Devices.logSerialConsole": of_devices({"logSerialConsole": False}),
    "Devices.autoattachVSOCK": of_devices({"autoattachVSOCK": True}),
    "Devices.blockMultiQueue": of_devices({"blockMultiQueue": True}, build_disk(**VIRTIO)),
    "Devices.networkInterfaceMultiqueue": of_devices({"networkInterfaceMultiqueue": True}, build_interface()),
    "Devices.useVirtioTransitional": of_devices({"useVirtioTransitional": True}),
    "Devices.disableHotplug": of_devices({"disableHotplug": True}),
    "Disk.name": of_disk({"name": "other"}),
    "Disk.disk": of_disk(VIRTIO),
    "Disk.cdrom": of_disk({"cdrom": {}}),
    "Disk.lun": of_disk({"lun": {}}),
    "Disk.bootOrder": of_disk({"bootOrder": 1}),
    "Disk.serial": of_disk({"serial": "a1"}),
    "Disk.cache": of_disk({"cache": "writeback"}),
    "Disk.io": of_disk({"io": "threads"}),
    "Disk.dedicatedIOThread": of_disk({"dedicatedIOThread": True}, VIRTIO),
    "Disk.blockSize": of_disk({"blockSize": {"matchVolume": {}}}),
    "Disk.errorPolicy": of_disk({"errorPolicy": "report"}),
    "Disk.shareable": of_disk({"shareable": True}),
    "Disk.changedBlockTracking": of_disk({"changedBlockTracking": True}),
    "Disk.tag": change(build_disk(), build_disk(tag="a"), **CONFIG_DRIVE),
    "DiskTarget.bus": of_disk(VIRTIO),
    "DiskTarget.pciAddress": of_disk({"disk": {"bus": "virtio", "pciAddress": "0000:81:01.0"}}, VIRTIO),
    "DiskTarget.readonly": of_disk({"disk": {"bus": "virtio", "readonly": True}}, VIRTIO),
    "CDRomTarget.bus": of_disk({"cdrom": {"bus": "scsi"}}, {"cdrom": {}}),
    "CDRomTarget.readonly": of_disk({"cdrom": {"readonly": False}}, {"cdrom": {}}),
    "CDRomTarget.tray": of_disk({"cdrom": {"tray": "open"}}, {"cdrom": {}}),
    "LunTarget.bus": of_lun(bus="virtio"),
    "LunTarget.readonly": of_lun(readonly=True),
    "LunTarget.reservation": of_lun(reservation=True),
    "BlockSize.custom": of_disk({"blockSize": {"custom": CUSTOM}}),
    "BlockSize.matchVolume": of_disk({"blockSize": {"matchVolume": {}}}),
    **{
        f"CustomBlockSize.{name}": of_disk(
            {"blockSize": {"custom": {**CUSTOM, name: 8192}}}, {"blockSize": {"custom": CUSTOM}}
        )
        for name in ("logical", "physical", "discardGranularity")
    },
    "Filesystem.name": of_item("filesystems", {"name": "b"}, {"virtiofs": {}}),
    "GPU.name": of_item("gpus", {"name": "b"}, GPU),
    "GPU.deviceName": of_item("gpus", {"deviceName": "example.com/b"}, GPU),
    "GPU.claimName": of_item("gpus", {"claimName": "c"}, GPU),
    "GPU.virtualGPUOptions": of_display(enabled=False),
    "GPU.tag": change({"gpus": [{"name": "a", **GPU}]}, {"gpus": [{"name": "a", "tag": "t", **GPU}]}, **CONFIG_DRIVE),
    "VGPUOptions.display": of_display(enabled=False),
    "VGPUDisplayOptions.enabled": of_display(enabled=False),
    "VGPUDisplayOptions.ramFB": of_display(ramFB={"enabled": False}),
    "HostDevice.name": of_item("hostDevices", {"name": "b"}, GPU),
    "HostDevice.deviceName": of_item("hostDevices", {"deviceName": "example.com/b"}, GPU),
    "HostDevice.claimName": of_item("hostDevices", {"claimName": "c"}, GPU),
    "HostDevice.tag": change(
        {"hostDevices": [{"name": "a", **GPU}]}, {"hostDevices": [{"name": "a", "tag": "t", **GPU}]}, **CONFIG_DRIVE
    ),
    "Input.name": of_item("inputs", {"name": "b"}, TABLET),
    "Input.bus": of_item("inputs", {"bus": "virtio"}, TABLET),
    "PanicDevice.model": of_devices({"panicDevices": [{"model": "hyperv"}]}, {"panicDevices": [{}]}),
    "SoundDevice.name": of_devices({"sound": {"name": "b"}}, SOUND),
    "SoundDevice.model": of_devices({"sound": {"name": "a", "model": "ac97"}}, SOUND),
    "TPMDevice.enabled": of_devices({"tpm": {"enabled": False}}, {"tpm": {}}),
    "TPMDevice.persistent": of_devices({"tpm": {"persistent": True}}, {"tpm": {}}),
    "VideoDevice.type": of_devices({"video": {"type": "virtio"}}, {"video": {}}),
    "Watchdog.name": of_devices({"watchdog": {"name": "b", "i6300esb": {}}}, DOG),
    "Watchdog.i6300esb": of_devices(DOG, {"watchdog": {"name": "a"}}),
    "Watchdog.diag288": of_devices(OTHER_DOG, {"watchdog": {"name": "a"}}),
    "I6300ESBWatchdog.action": of_devices({"watchdog": {"name": "a", "i6300esb": {"action": "poweroff"}}}, DOG),
    "Diag288Watchdog.action": of_devices({"watchdog": {"name": "a", "diag288": {"action": "poweroff"}}}, OTHER_DOG),
    "Interface.name": of_card({"name": "other"}),
    "Interface.masquerade": of_card({"masquerade": {}}, {"bridge": {}}),
    "Interface.bridge": of_card({"bridge": {}}),
    "Interface.sriov": of_card({"sriov": {}}),
    "Interface.passtBinding": of_card({"passtBinding": {}}),
    "Interface.binding": of_card({"binding": {"name": "a"}}),
    "Interface.macvtap": of_card({"macvtap": {}}),
    "Interface.passt": of_card({"passt": {}}),
    "Interface.slirp": of_card({"slirp": {}}),
    "Interface.model": of_card({"model": "e1000"}),
    "Interface.macAddress": of_card({"macAddress": "02:00:5e:10:00:01"}),
    "Interface.state": of_card({"state": "down"}),
    "Interface.ports": of_card({"ports": [{"port": 80}]}),
    "Interface.portRanges": of_card({"portRanges": [{"start": 80, "end": 90, "protocol": "TCP"}]}),
    "Interface.dhcpOptions": of_options(bootFileName="boot"),
    "Interface.bootOrder": of_card({"bootOrder": 1}),
    "Interface.pciAddress": of_card({"pciAddress": "0000:81:01.0"}),
    "Interface.acpiIndex": of_card({"acpiIndex": 7}),
    "Interface.tag": change(build_interface(), build_interface(tag="a"), **POD_NETWORK, **CONFIG_DRIVE),
    "DHCPOptions.bootFileName": of_options(bootFileName="boot"),
    "DHCPOptions.tftpServerName": of_options(tftpServerName="server"),
    "DHCPOptions.ntpServers": of_options(ntpServers=["10.0.0.1"]),
    "DHCPOptions.privateOptions": of_options(privateOptions=[{"option": 224, "value": "a"}]),
    "Port.port": of_card({"ports": [{"port": 81}]}, {"ports": [{"port": 80}]}),
    "Port.protocol": of_card({"ports": [{"port": 80, "protocol": "UDP"}]}, {"ports": [{"port": 80}]}),
    **{
        f"PortRange.{name}": of_card(
            {"portRanges": [{"start": 80, "end": 90, "protocol": "TCP", name: value}]},
            {"portRanges": [{"start": 80, "end": 90, "protocol": "TCP"}]},
        )
        for name, value in (("start", 81), ("end", 91), ("protocol", "UDP"))
    },
    "Network.name": of_network({"pod": {}}, {"pod": {}, "name": "other"}),
    "Network.pod": of_network({"multus": {"networkName": "blue"}}, {"pod": {}}),
    "Network.multus": of_network({"pod": {}}, {"multus": {"networkName": "blue"}}),
    "Network.resourceClaim": of_network({"pod": {}}, {"resourceClaim": {"claimName": "c"}}),
    "PodNetwork.vmNetworkCIDR": of_network({"pod": {}}, {"pod": {"vmNetworkCIDR": "10.11.12.0/24"}}),
    "PodNetwork.vmIPv6NetworkCIDR": of_network({"pod": {}}, {"pod": {"vmIPv6NetworkCIDR": "fd11::/64"}}),
    "MultusNetwork.networkName": of_network({"multus": {"networkName": "blue"}}, {"multus": {"networkName": "red"}}),
}


@pytest.mark.parametrize("field", CHANGES)
def test_each_device_field_changes_the_design(field: str) -> None:
    one, other = (
        design_with(host=HOST, sources={"root": BLOCK}, domain={"cpu": {"cores": 2}}, **instance)
        for instance in CHANGES[field]
    )
    assert one != other


def test_every_device_field_is_tested() -> None:
    known = {f"{struct.__name__}.{field.encode_name}" for struct in STRUCTS for field in fields(struct)}
    assert known == {*CHANGES, *WITHOUT_EFFECT}

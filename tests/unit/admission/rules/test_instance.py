"""What a guest may say: each rule broken once, at the field that breaks it, and kept by what comes nearest to it."""

from typing import Any

import pytest
from tests.build import Tree, build_spec

from virtshape.admission.rules.instance import check_guest
from virtshape.admission.violation import split

VOLUMES: list[Tree] = [{"name": "root", "containerDisk": {"image": "i"}}]
POD: list[Tree] = [{"name": "default", "pod": {}}]
PINNED: Tree = {"dedicatedCpuPlacement": True, "sockets": 2, "cores": 1, "threads": 1}
HUGE: Tree = {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}


def guest(**spec: Any) -> Tree:
    return {"domain": {}, **spec}


def domain(**members: Any) -> Tree:
    return {"domain": members}


def devices(**members: Any) -> Tree:
    return {"domain": {"devices": members}}


def disk(volume: Tree | None = None, **members: Any) -> Tree:
    volumes = [{"name": "root", **volume}] if volume else VOLUMES
    return {"volumes": volumes, **devices(disks=[{"name": "root", **members}])}


def volume(**source: Any) -> Tree:
    return {"domain": {}, "volumes": [{"name": "root", **source}]}


def interface(network: Tree | None = None, **members: Any) -> Tree:
    networks = [{"name": "default", **network}] if network else POD
    return {"networks": networks, **devices(interfaces=[{"name": "default", **members}])}


D = "spec.domain"
DISK = f"{D}.devices.disks[0]"
INTERFACE = f"{D}.devices.interfaces[0]"
VOLUME = "spec.volumes[0]"
INIT = f"{VOLUME}.cloudInitNoCloud"

BROKEN: dict[str, tuple[Tree, list[str]]] = {
    "a disk without its volume": (devices(disks=[{"name": "a"}]), [f"{DISK}.name"]),
    "a filesystem without its volume": (
        devices(filesystems=[{"name": "a", "virtiofs": {}}]),
        [f"{D}.devices.filesystems[0].name"],
    ),
    "two disks of a name": (
        {"volumes": VOLUMES, **devices(disks=[{"name": "root"}, {"name": "root"}])},
        [f"{D}.devices.disks[1].name"],
    ),
    "two volumes of a name": (guest(volumes=[*VOLUMES, *VOLUMES]), ["spec.volumes[1].name"]),
    "a volume of nothing": (volume(), [VOLUME]),
    "a volume of two things": (
        volume(containerDisk={"image": "i"}, emptyDisk={"capacity": "1Gi"}),
        [f"{VOLUME}.emptyDisk"],
    ),
    "a disk of two sorts": (disk(disk={}, lun={}), [f"{DISK}.lun"]),
    "a bus that is none": (disk(disk={"bus": "ide"}), [f"{DISK}.disk.bus"]),
    "a cache that is none": (disk(cache="some"), [f"{DISK}.cache"]),
    "an io mode that is none": (disk(io="fast"), [f"{DISK}.io"]),
    "an error policy that is none": (disk(errorPolicy="cry"), [f"{DISK}.errorPolicy"]),
    "a CD-ROM on virtio": (disk(cdrom={"bus": "virtio"}), [f"{DISK}.cdrom.bus"]),
    "a disk on sata to read only": (disk(disk={"bus": "sata", "readonly": True}), [f"{DISK}.disk.readonly"]),
    "a PCI address on sata": (disk(disk={"bus": "sata", "pciAddress": "0000:81:01.0"}), [f"{DISK}.disk.pciAddress"]),
    "a PCI address that is none": (disk(disk={"bus": "virtio", "pciAddress": "81"}), [f"{DISK}.disk.pciAddress"]),
    "a thread for a disk on sata": (disk(dedicatedIOThread=True, disk={"bus": "sata"}), [f"{DISK}.disk.bus"]),
    "a reservation without scsi": (
        disk({"persistentVolumeClaim": {"claimName": "c"}}, lun={"reservation": True}),
        [f"{DISK}.lun.reservation"],
    ),
    "a reservation of a container disk": (disk(lun={"bus": "scsi", "reservation": True}), [f"{DISK}.lun.reservation"]),
    "a serial too long": (disk(serial="a" * 257), [f"{DISK}.serial"]),
    "a serial with blanks": (disk(serial="a b"), [f"{DISK}.serial"]),
    "a shared disk with a cache": (disk(shareable=True, cache="writeback"), [f"{DISK}.cache"]),
    "blocks that are no power of 2": (
        disk(blockSize={"custom": {"logical": 1000, "physical": 4096}}),
        [f"{DISK}.blockSize.custom.logical"],
    ),
    "blocks within smaller blocks": (
        disk(blockSize={"custom": {"logical": 4096, "physical": 512}}),
        [f"{DISK}.blockSize.custom.logical"],
    ),
    "blocks of two sorts": (
        disk(blockSize={"matchVolume": {}, "custom": {"logical": 512, "physical": 512}}),
        [f"{DISK}.blockSize.custom"],
    ),
    "a container disk of no image": (volume(containerDisk={"image": ""}), [f"{VOLUME}.containerDisk.image"]),
    "a claim of no name": (
        volume(persistentVolumeClaim={"claimName": ""}),
        [f"{VOLUME}.persistentVolumeClaim.claimName"],
    ),
    "a DataVolume of no name": (volume(dataVolume={"name": ""}), [f"{VOLUME}.dataVolume.name"]),
    "a config map of no name": (volume(configMap={}), [f"{VOLUME}.configMap.name"]),
    "a secret of no name": (volume(secret={}), [f"{VOLUME}.secret.secretName"]),
    "a service account of no name": (volume(serviceAccount={}), [f"{VOLUME}.serviceAccount.serviceAccountName"]),
    "an empty disk of no size": (volume(emptyDisk={"capacity": "0"}), [f"{VOLUME}.emptyDisk.capacity"]),
    "a host disk of no path": (volume(hostDisk={"path": "", "type": "Disk"}), [f"{VOLUME}.hostDisk.path"]),
    "a host disk to make of no size": (
        volume(hostDisk={"path": "/a", "type": "DiskOrCreate"}),
        [f"{VOLUME}.hostDisk.capacity"],
    ),
    "a host disk that is there, with a size": (
        volume(hostDisk={"path": "/a", "type": "Disk", "capacity": "1Gi"}),
        [f"{VOLUME}.hostDisk.capacity"],
    ),
    "a host disk of no sort": (volume(hostDisk={"path": "/a", "type": "Tape"}), [f"{VOLUME}.hostDisk.type"]),
    "sysprep from nothing": (volume(sysprep={}), [f"{VOLUME}.sysprep"]),
    "two memory dumps": (
        guest(volumes=[{"name": name, "memoryDump": {"claimName": "c"}} for name in "ab"]),
        ["spec.volumes"],
    ),
    "cloud-init of nothing": (volume(cloudInitNoCloud={}), [INIT]),
    "user data twice": (volume(cloudInitNoCloud={"userData": "a", "userDataBase64": "YQ=="}), [f"{INIT}.userData"]),
    "user data too long": (volume(cloudInitNoCloud={"userData": "a" * 2049}), [f"{INIT}.userData"]),
    "user data in bad base64": (volume(cloudInitNoCloud={"userDataBase64": "#"}), [f"{INIT}.userDataBase64"]),
    "network data too long": (
        volume(cloudInitConfigDrive={"networkDataBase64": "YWFh" * 683}),
        [f"{VOLUME}.cloudInitConfigDrive.networkDataBase64"],
    ),
    "an interface without its network": (devices(interfaces=[{"name": "a", "bridge": {}}]), [f"{INTERFACE}.name"]),
    "a network without its interface": (guest(networks=POD), ["spec.networks[0].name"]),
    "a network of nothing": (
        {"networks": [{"name": "a"}], **devices(interfaces=[{"name": "a", "bridge": {}}])},
        ["spec.networks[0]"],
    ),
    "an interface bound twice": (interface(bridge={}, sriov={}), [f"{INTERFACE}.sriov"]),
    "masquerade off the pod network": (
        interface({"multus": {"networkName": "n"}}, masquerade={}),
        [f"{INTERFACE}.name"],
    ),
    "two pod networks": (
        {
            "networks": [{"name": "a", "pod": {}}, {"name": "b", "pod": {}}],
            **devices(interfaces=[{"name": "a", "bridge": {}}, {"name": "b", "bridge": {}}]),
        },
        [f"{D}.devices.interfaces"],
    ),
    "a multus network of no name": (
        interface({"multus": {"networkName": ""}}, bridge={}),
        ["spec.networks[0].multus.networkName"],
    ),
    "a model that is none": (interface(bridge={}, model="ne2000"), [f"{INTERFACE}.model"]),
    "a state that is none": (interface(bridge={}, state="sideways"), [f"{INTERFACE}.state"]),
    "a MAC address that is none": (interface(bridge={}, macAddress="de:ad"), [f"{INTERFACE}.macAddress"]),
    "a PCI address of an interface": (interface(bridge={}, pciAddress="x"), [f"{INTERFACE}.pciAddress"]),
    "an interface with a dot in its name": (
        {"networks": [{"name": "a.b", "pod": {}}], **devices(interfaces=[{"name": "a.b", "bridge": {}}])},
        [f"{INTERFACE}.name"],
    ),
    "a port that is none": (interface(masquerade={}, ports=[{"port": 0}]), [f"{INTERFACE}.ports[0].port"]),
    "a protocol that is none": (
        interface(masquerade={}, ports=[{"port": 1, "protocol": "SMTP"}]),
        [f"{INTERFACE}.ports[0].protocol"],
    ),
    "two ports of a name": (
        interface(masquerade={}, ports=[{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]),
        [f"{INTERFACE}.ports[1].name"],
    ),
    "a time server that is no address": (
        interface(bridge={}, dhcpOptions={"ntpServers": ["x"]}),
        [f"{INTERFACE}.dhcpOptions.ntpServers[0]"],
    ),
    "a boot order of nought": (disk(bootOrder=0), [f"{DISK}.bootOrder"]),
    "a boot order given twice": (
        {
            "volumes": VOLUMES,
            "networks": POD,
            **devices(
                disks=[{"name": "root", "bootOrder": 1}],
                interfaces=[{"name": "default", "bridge": {}, "bootOrder": 1}],
            ),
        },
        [f"{INTERFACE}.bootOrder"],
    ),
    "an input on ps2": (
        devices(inputs=[{"name": "a", "type": "tablet", "bus": "ps2"}]),
        [f"{D}.devices.inputs[0].bus"],
    ),
    "an input of no sort": (devices(inputs=[{"name": "a", "type": "mouse"}]), [f"{D}.devices.inputs[0].type"]),
    "a sound of no sort": (devices(sound={"name": "a", "model": "sb16"}), [f"{D}.devices.sound.model"]),
    "a sound of no name": (devices(sound={"name": ""}), [f"{D}.devices.sound.name"]),
    "a video of no sort": (devices(video={"type": "cga"}), [f"{D}.devices.video.type"]),
    "a panic of no sort": (devices(panicDevices=[{"model": "loud"}]), [f"{D}.devices.panicDevices[0].model"]),
    "a GPU of nothing": (devices(gpus=[{"name": "a"}]), [f"{D}.devices.gpus[0].deviceName"]),
    "two host devices of a name": (
        devices(hostDevices=[{"name": "a", "deviceName": "d"}] * 2),
        [f"{D}.devices.hostDevices[1].name"],
    ),
    "a watchdog that bites": (
        devices(watchdog={"name": "w", "i6300esb": {"action": "bite"}}),
        [f"{D}.devices.watchdog.i6300esb.action"],
    ),
    "a watchdog of no name": (devices(watchdog={"name": ""}), [f"{D}.devices.watchdog.name"]),
    "two watchdogs": (
        devices(watchdog={"name": "w", "i6300esb": {}, "diag288": {}}),
        [f"{D}.devices.watchdog"],
    ),
    "a host name in capitals": (guest(hostname="Web"), ["spec.hostname"]),
    "a host name too long": (guest(hostname="a" * 64), ["spec.hostname"]),
    "a subdomain with dots": (guest(subdomain="a.b"), ["spec.subdomain"]),
    "no DNS and no name servers": (guest(dnsPolicy="None"), ["spec.dnsConfig.nameservers"]),
    "a name server that is no address": (guest(dnsConfig={"nameservers": ["x"]}), ["spec.dnsConfig.nameservers[0]"]),
    "too many name servers": (guest(dnsConfig={"nameservers": ["1.1.1.1"] * 4}), ["spec.dnsConfig.nameservers"]),
    "too many searches": (guest(dnsConfig={"searches": ["a"] * 33}), ["spec.dnsConfig.searches"]),
    "searches too long": (guest(dnsConfig={"searches": ["a" * 2049]}), ["spec.dnsConfig.searches"]),
    "an eviction strategy that is none": (guest(evictionStrategy="Push"), ["spec.evictionStrategy"]),
    "an architecture that is none": (guest(architecture="vax"), ["spec.architecture"]),
    "a toleration of everything but": (guest(tolerations=[{"operator": "Equal"}]), ["spec.tolerations[0].operator"]),
    "a toleration of a value that exists": (
        guest(tolerations=[{"key": "k", "operator": "Exists", "value": "v"}]),
        ["spec.tolerations[0].value"],
    ),
    "a toleration for a while": (
        guest(tolerations=[{"key": "k", "effect": "NoSchedule", "tolerationSeconds": 1}]),
        ["spec.tolerations[0].effect"],
    ),
    "a skew of nought": (
        guest(topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]),
        ["spec.topologySpreadConstraints[0].maxSkew"],
    ),
    "a start strategy that is none": (guest(startStrategy="Slow"), ["spec.startStrategy"]),
    "paused and watched": (
        guest(startStrategy="Paused", livenessProbe={"guestAgentPing": {}}),
        ["spec.startStrategy"],
    ),
    "a grace period in the past": (guest(terminationGracePeriodSeconds=-1), ["spec.terminationGracePeriodSeconds"]),
    "a probe that does not ask": (guest(readinessProbe={}), ["spec.readinessProbe"]),
    "a probe that asks twice": (
        guest(livenessProbe={"guestAgentPing": {}, "tcpSocket": {"port": 1}}),
        ["spec.livenessProbe.tcpSocket"],
    ),
    "a probe back in time": (
        guest(readinessProbe={"guestAgentPing": {}, "periodSeconds": -1}),
        ["spec.readinessProbe.periodSeconds"],
    ),
    "life that takes two successes": (
        guest(livenessProbe={"guestAgentPing": {}, "successThreshold": 2}),
        ["spec.livenessProbe.successThreshold"],
    ),
    "a probe of no pod network": (
        {**interface({"multus": {"networkName": "n"}}, bridge={}), "readinessProbe": {"tcpSocket": {"port": 1}}},
        ["spec.readinessProbe"],
    ),
    "a clock of two offsets": (domain(clock={"utc": {}, "timezone": "UTC"}), [f"{D}.clock.timezone"]),
    "a tick policy that is none": (
        domain(clock={"timer": {"rtc": {"tickPolicy": "merge"}}}),
        [f"{D}.clock.timer.rtc.tickPolicy"],
    ),
    "a feature policy that is none": (
        domain(cpu={"features": [{"name": "a", "policy": "maybe"}]}),
        [f"{D}.cpu.features[0].policy"],
    ),
    "more sockets than there may be": (domain(cpu={"sockets": 4, "maxSockets": 2}), [f"{D}.cpu.sockets"]),
    "an emulator thread of its own without CPUs": (
        domain(cpu={"isolateEmulatorThread": True}),
        [f"{D}.cpu.isolateEmulatorThread"],
    ),
    "realtime without CPUs of its own": (domain(cpu={"realtime": {}}), [f"{D}.cpu.realtime"]),
    "NUMA without CPUs of its own": (
        domain(cpu={"numa": {"guestMappingPassthrough": {}}}, memory=HUGE),
        [f"{D}.cpu.numa.guestMappingPassthrough"],
    ),
    "NUMA without huge pages": (
        domain(cpu={**PINNED, "numa": {"guestMappingPassthrough": {}}}),
        [f"{D}.cpu.numa.guestMappingPassthrough"],
    ),
    "half a CPU of its own": (
        domain(cpu=PINNED, resources={"requests": {"cpu": "1500m"}}),
        [f"{D}.resources.requests.cpu"],
    ),
    "CPUs of its own, a limit apart": (
        domain(cpu=PINNED, resources={"requests": {"cpu": "2"}, "limits": {"cpu": "3"}}),
        [f"{D}.resources.requests.cpu"],
    ),
    "CPUs of its own, another number": (
        domain(cpu=PINNED, resources={"limits": {"cpu": "3"}}),
        [f"{D}.cpu.dedicatedCpuPlacement"],
    ),
    "a request above its limit": (
        domain(resources={"requests": {"cpu": "3"}, "limits": {"cpu": "2"}}),
        [f"{D}.resources.requests.cpu"],
    ),
    "a negative request": (domain(resources={"requests": {"cpu": "-1"}}), [f"{D}.resources.requests.cpu"]),
    "memory above its limit": (
        domain(memory={"guest": "2Gi"}, resources={"limits": {"memory": "1Gi"}}),
        [f"{D}.memory.guest"],
    ),
    "memory below its request": (
        domain(memory={"guest": "1Gi"}, resources={"requests": {"memory": "2Gi"}}),
        [f"{D}.memory.guest"],
    ),
    "memory above its maximum": (domain(memory={"guest": "2Gi", "maxGuest": "1Gi"}), [f"{D}.memory.maxGuest"]),
    "pages of no size": (
        domain(memory={"guest": "1Gi", "hugepages": {"pageSize": "big"}}),
        [f"{D}.memory.hugepages.pageSize"],
    ),
    "pages of nothing": (
        domain(memory={"guest": "1Gi", "hugepages": {"pageSize": "0"}}),
        [f"{D}.memory.hugepages.pageSize"],
    ),
    "pages larger than memory": (
        domain(memory={"guest": "1Mi", "hugepages": {"pageSize": "2Mi"}}),
        [f"{D}.memory.hugepages.pageSize"],
    ),
    "pages that do not divide": (
        domain(memory={"guest": "5Mi", "hugepages": {"pageSize": "2Mi"}}),
        [f"{D}.memory.hugepages.pageSize"],
    ),
    "two bootloaders": (
        domain(firmware={"bootloader": {"bios": {}, "efi": {"secureBoot": False}}}),
        [f"{D}.firmware.bootloader.efi"],
    ),
    "SecureBoot without SMM": (
        domain(firmware={"bootloader": {"efi": {}}}),
        [f"{D}.firmware.bootloader.efi.secureBoot"],
    ),
    "SecureBoot with SMM off": (
        domain(firmware={"bootloader": {"efi": {"secureBoot": True}}}, features={"smm": {"enabled": False}}),
        [f"{D}.firmware.bootloader.efi.secureBoot"],
    ),
    "kernel arguments without a kernel": (
        domain(firmware={"kernelBoot": {"kernelArgs": "quiet"}}),
        [f"{D}.firmware.kernelBoot.kernelArgs"],
    ),
    "a kernel from no image": (
        domain(firmware={"kernelBoot": {"container": {"image": "", "kernelPath": "/k"}}}),
        [f"{D}.firmware.kernelBoot.container.image"],
    ),
    "a kernel from nowhere": (
        domain(firmware={"kernelBoot": {"container": {"image": "i"}}}),
        [f"{D}.firmware.kernelBoot.container"],
    ),
    "a kernel somewhere": (
        domain(firmware={"kernelBoot": {"container": {"image": "i", "kernelPath": "k"}}}),
        [f"{D}.firmware.kernelBoot.container.kernelPath"],
    ),
    "a threads policy that is none": (domain(ioThreadsPolicy="many"), [f"{D}.ioThreadsPolicy"]),
    "a pool of no threads": (
        domain(ioThreadsPolicy="supplementalPool"),
        [f"{D}.ioThreads.supplementalPoolThreadCount"],
    ),
}

KEPT: dict[str, Tree] = {
    "nothing": guest(),
    "a plain guest": {
        "volumes": [*VOLUMES, {"name": "init", "cloudInitNoCloud": {"userData": "a" * 2048}}],
        "networks": POD,
        "hostname": "a" * 63,
        **devices(
            disks=[
                {
                    "name": "root",
                    "bootOrder": 1,
                    "serial": "A_.+-1",
                    "disk": {"bus": "virtio"},
                    "dedicatedIOThread": True,
                },
                {"name": "init", "cdrom": {"bus": "sata"}},
            ],
            interfaces=[{"name": "default", "masquerade": {}, "bootOrder": 2, "macAddress": "02:00:00:00:00:01"}],
        ),
    },
    "SecureBoot with SMM": domain(firmware={"bootloader": {"efi": {}}}, features={"smm": {}}),
    "CPUs of its own": domain(
        cpu={**PINNED, "isolateEmulatorThread": True, "numa": {"guestMappingPassthrough": {}}, "realtime": {}},
        memory=HUGE,
        resources={"requests": {"cpu": "2"}, "limits": {"cpu": "2"}},
    ),
    "memory overcommitted": domain(memory={"guest": "2Gi"}, resources={"requests": {"memory": "1Gi"}}),
    "a probe over the pod network": guest(readinessProbe={"httpGet": {"port": 80}}),
    "a toleration of everything": guest(tolerations=[{"operator": "Exists"}]),
}


def check(tree: Tree) -> list[str]:
    members = {name: value for name, value in tree.items() if name != "domain"}
    spec = build_spec(domain=tree.get("domain") or None, **members)
    return [cause.field for cause in split(check_guest(spec, "spec")).causes]


@pytest.mark.parametrize(("tree", "fields"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_told_at_its_field(tree: Tree, fields: list[str]) -> None:
    assert check(tree) == fields


@pytest.mark.parametrize("tree", KEPT.values(), ids=KEPT)
def test_what_keeps_the_rules_passes(tree: Tree) -> None:
    assert check(tree) == []

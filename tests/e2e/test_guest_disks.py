"""Disks of real guests: every kind of volume as seen by the guest, and boot disks."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.containers import build_layer, build_layout, write_archive
from tests.support.demoguests import CDI, Guests, build_guest, build_instancetype_or_preference, eventually
from tests.support.upprocess import call_virtshape
from tests.support.webserver import serve, serve_file

from virtshape.api.model import JsonObject
from virtshape.launcher.images.demo.build import DemoGuest

SCRIPT = """\
#!/bin/sh
for disk in /sys/block/vd*; do
    name=$(cat $disk/serial)
    device=/dev/${disk##*/}
    case $name in
    settings | keys | account | facts | answers)
        mkdir -p /run/$name && mount -t iso9660 -o ro $device /run/$name
        for file in $(cd /run/$name && find * -type f); do echo "$name/$file=$(head -n 1 /run/$name/$file)"; done
        ;;
    empty | passing | hosted)
        echo "$name holds $(($(cat $disk/size) / 2048)) MiB: $(head -c 16 $device | tr -d '\\000')"
        printf 'left by a guest.' | dd of=$device conv=notrunc,fsync 2>/dev/null
        ;;
    esac
done
echo "all is read"
"""


@pytest.fixture
def settings(guests: Guests) -> Iterator[Path]:
    """The path of the server's configuration file, which the test writes and the fixture removes."""
    path = guests.system.directory / "config.yaml"
    yield path
    path.unlink(missing_ok=True)


def build_volume(name: str, source: JsonObject, size: str | None = None) -> JsonObject:
    storage = {"resources": {"requests": {"storage": size}}} if size else {}
    return {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"source": source, "storage": storage},
    }


def build_core(kind: str, name: str, **fields: object) -> JsonObject:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, **fields}


def build_claim(name: str) -> JsonObject:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "8Mi"}}}
    return build_core("PersistentVolumeClaim", name, spec=spec)


def test_guest_has_a_disk_for_every_volume_type(guests: Guests, settings: Path, tmp_path: Path) -> None:
    settings.write_text(json.dumps({"hostDisks": {"roots": [str(tmp_path)]}}))
    guests.create(
        build_core("ConfigMap", "settings", data={"colour": "green"}),
        build_core("Secret", "keys", stringData={"word": "sesame"}),
        build_core("ConfigMap", "answers", data={"Autounattend.xml": "<unattend/>"}),
        build_core("ServiceAccount", "robot"),
        build_claim("base"),
    )
    fields = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels['tier']"}}]
    host_disk = {"path": str(tmp_path / "new.img"), "type": "DiskOrCreate", "capacity": "32Mi"}
    volumes: list[JsonObject] = [
        {"name": "seed", "cloudInitConfigDrive": {"userData": SCRIPT}},
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": "keys", "secret": {"secretName": "keys"}},
        {"name": "account", "serviceAccount": {"serviceAccountName": "robot"}},
        {"name": "facts", "downwardAPI": {"fields": fields}},
        {"name": "answers", "sysprep": {"configMap": {"name": "answers"}}},
        {"name": "empty", "emptyDisk": {"capacity": "16Mi"}},
        {"name": "passing", "ephemeral": {"persistentVolumeClaim": {"claimName": "base"}}},
        {"name": "hosted", "hostDisk": host_disk},
    ]
    disks = [{"name": volume["name"], "serial": volume["name"], "disk": {"bus": "virtio"}} for volume in volumes]
    domain = {"memory": {"guest": "192Mi"}, "devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}, *disks]}}
    tree = build_guest("volumes", domain=domain, volumes=volumes)
    tree["spec"]["template"]["metadata"] = {"labels": {"tier": "front"}}
    guests.create(tree)
    written = guests.wait_for_text("volumes", "all is read").splitlines()
    files = ["settings/colour=green", "keys/word=sesame", "facts/labels=front", "account/namespace=default"]
    assert {*files, "answers/Autounattend.xml=<unattend/>"} <= {*written}
    assert {"empty holds 16 MiB: ", "passing holds 8 MiB: ", "hosted holds 32 MiB: "} <= {*written}
    assert any(line.startswith("account/token=ey") for line in written)
    uid = guests.wait_for_phase("volumes", "Running")["metadata"]["uid"]
    guests.act("virtualmachines", "volumes", "restart")
    guests.wait_for_phase("volumes", "Running", other_than=uid)
    written = guests.wait_for_text("volumes", "all is read").splitlines()
    assert {"empty holds 16 MiB: ", "passing holds 8 MiB: ", "hosted holds 32 MiB: left by a guest."} <= {*written}
    guests.delete("volumes")


def test_guest_boots_a_kernel_from_a_container_image(
    guests: Guests, settings: Path, tmp_path: Path, demo: DemoGuest
) -> None:
    files = {"boot/vmlinuz": demo.kernel.read_bytes(), "boot/initrd": demo.initramfs.read_bytes()}
    archive = write_archive(tmp_path / "kernel.tar", build_layout({"amd64": [build_layer(files)]}))
    settings.write_text(json.dumps({"images": {"registry.example/kernel:1": str(archive)}}))
    container = {"image": "registry.example/kernel:1", "kernelPath": "/boot/vmlinuz", "initrdPath": "/boot/initrd"}
    boot = {"container": container, "kernelArgs": "console=ttyS0 quiet hello=there"}
    seed = {"name": "seed", "cloudInitNoCloud": {"userData": "#!/bin/sh\ncat /proc/cmdline\n"}}
    tree = build_guest("kernel", domain={"memory": {"guest": "192Mi"}, "firmware": {"kernelBoot": boot}})
    tree["spec"]["template"]["spec"]["volumes"] = [seed]
    tree["spec"]["template"]["spec"]["domain"]["devices"] = {"disks": [{"name": "seed", "disk": {"bus": "virtio"}}]}
    guests.create(tree)
    assert guests.read_shape("kernel")["memoryMiB"] == 192
    assert "hello=there" in guests.wait_for_text("kernel", "hello=there")
    guests.delete("kernel")


def test_vm_boots_from_a_clone_of_an_added_image_with_the_defaults_of_the_image(
    guests: Guests, demo: DemoGuest
) -> None:
    guests.create(
        build_instancetype_or_preference("Instancetype", "imaged", cpu={"guest": 2}, memory={"guest": "192Mi"})
    )
    guests.create(build_instancetype_or_preference("Preference", "imaged", devices={"preferredDiskBus": "virtio"}))
    kinds = [("instancetype", "VirtualMachineInstancetype"), ("preference", "VirtualMachinePreference")]
    defaults = [
        word for role, kind in kinds for word in (f"--default-{role}", "imaged", f"--default-{role}-kind", kind)
    ]
    added = call_virtshape("image", "add", "golden", demo.disk, *defaults, "--data-dir", guests.system.directory)
    assert added.returncode == 0, added.stderr
    template = {
        "metadata": {"name": "imaged-root"},
        "spec": {"sourceRef": {"kind": "DataSource", "name": "golden"}, "storage": {}},
    }
    matchers: JsonObject = {role: {"inferFromVolume": "root"} for role, _ in kinds}
    tree = build_guest("imaged", dataVolumeTemplates=[template], **matchers)
    tree["spec"]["template"]["spec"]["volumes"] = [{"name": "root", "dataVolume": {"name": "imaged-root"}}]
    del tree["spec"]["template"]["spec"]["domain"]["memory"]
    guests.create(tree)
    found = guests.read_shape("imaged")
    assert (found["sockets"], found["memoryMiB"]) == (2, 192)
    assert [disk["driver"] for disk in found["disks"]] == ["virtio_blk"]
    guests.delete("imaged")
    eventually(
        lambda: True if guests.system.request("GET", f"{CDI}/datavolumes/imaged-root")[0] == 404 else None,
        lambda: "the VM's disk was not deleted",
    )


def test_image_from_the_web_is_downloaded_cloned_and_booted(guests: Guests, demo: DemoGuest, settings: Path) -> None:
    settings.write_text(json.dumps({"imports": {"allowedNetworks": ["127.0.0.0/8"]}}))
    with serve(serve_file(gzip.compress(demo.disk.read_bytes(), 1))) as server:
        guests.create(
            build_volume("fetched", {"http": {"url": f"{server.url}/demo.img.gz"}}, "64Mi"),
            build_volume("cloned", {"pvc": {"name": "fetched", "namespace": "default"}}),
        )
        tree = build_guest("cloned")
        tree["spec"]["template"]["spec"]["volumes"] = [{"name": "root", "dataVolume": {"name": "cloned"}}]
        tree["spec"]["template"]["spec"]["domain"]["devices"] = {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}
        guests.create(tree)
        found = guests.read_shape("cloned")
    assert [disk["bytes"] for disk in found["disks"]] == [64 << 20]
    guests.delete("cloned")


def test_guest_waits_while_another_guest_uses_its_read_write_once_claim(guests: Guests) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "shared"}}]
    guests.create(build_claim("shared"), build_guest("first", grace=0, volumes=volumes))
    guests.wait_for_phase("first", "Running")
    guests.create(build_guest("second", grace=0, volumes=volumes))
    message = "PersistentVolumeClaim shared (ReadWriteOnce) is in use by VirtualMachineInstance first"
    assert guests.wait_for_condition("second", "Synchronized", "ClaimInUse")["message"] == message
    guests.delete("first")
    guests.wait_for_phase("second", "Running")
    guests.delete("second")


WRITE = (
    "#!/bin/sh\nprintf 'from one to the other' | dd of=/dev/vdb conv=notrunc,fsync 2>/dev/null && echo it is written\n"
)
READ = "#!/bin/sh\necho it says: $(head -c 21 /dev/vdb)\n"


def test_two_guests_share_a_read_write_many_claim(guests: Guests) -> None:
    claim = build_claim("common")
    claim["spec"]["accessModes"] = ["ReadWriteMany"]
    guests.create(claim)
    scripts = {"writer": (WRITE, "it is written"), "reader": (READ, "it says: from one to the other")}
    for name, (script, output) in scripts.items():
        volumes: list[JsonObject] = [
            {"name": "common", "persistentVolumeClaim": {"claimName": "common"}},
            {"name": "seed", "cloudInitNoCloud": {"userData": script}},
        ]
        disks: list[JsonObject] = [{"name": one, "disk": {"bus": "virtio"}} for one in ("root", "common", "seed")]
        disks[1]["shareable"] = True
        domain = {"memory": {"guest": "192Mi"}, "devices": {"disks": disks}}
        guests.create(build_guest(name, grace=0, domain=domain, volumes=volumes))
        guests.wait_for_text(name, output)
    guests.wait_for_status("writer", "Running")
    guests.delete(*scripts)

"""The demo guest, booted in every supported way; the hardware that it reports matches its configuration."""

import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.demo import TIMEOUT, QemuProcess, find_free_port, get_demo

from virtshape.launcher.images.demo.build import ensure_demo_image
from virtshape.launcher.images.demo.disk import ARGUMENTS
from virtshape.launcher.volumes.iso import render_iso

UUID = "5d307ca9-b3ef-428c-8861-06e72d69f223"
OVMF = Path("/usr/share/OVMF")


@pytest.fixture(autouse=True)
def _needs_qemu() -> None:
    if shutil.which("qemu-system-x86_64") is None:
        pytest.skip("QEMU is not installed: see the package qemu-system-x86")


def use_firmware(tmp_path: Path, name: str) -> list[str]:
    """Return the arguments for UEFI with a separate variable store."""
    if not OVMF.exists():
        pytest.skip("UEFI is not installed: see the package ovmf")
    variables = shutil.copy(OVMF / f"OVMF_VARS_4M{name}.fd", tmp_path / "variables.fd")
    code = OVMF / f"OVMF_CODE_4M{name}.fd"
    flash = "if=pflash,format=raw"
    return ["-drive", f"{flash},readonly=on,file={code}", "-drive", f"{flash},file={variables}"]


@pytest.fixture
def tpm(tmp_path: Path) -> Iterator[list[str]]:
    if shutil.which("swtpm") is None:
        pytest.skip("swtpm is not installed: see the package swtpm")
    path = tmp_path / "tpm.sock"
    state = f"dir={tmp_path}"
    command = ["swtpm", "socket", "--tpm2", "--tpmstate", state, "--ctrl", f"type=unixio,path={path}", "--terminate"]
    with subprocess.Popen(command) as process:
        while not path.exists():
            assert process.poll() is None
        socket_ = f"socket,id=tpm,path={path}"
        yield ["-chardev", socket_, "-tpmdev", "emulator,id=tpm,chardev=tpm", "-device", "tpm-crb,tpmdev=tpm"]
        process.kill()


def add_disk(image: Path, device: str) -> list[str]:
    name = device.partition(",")[0]
    return ["-drive", f"file={image},format=raw,if=none,id={name},snapshot=on", "-device", f"{device},drive={name}"]


def test_demo_guest_boots_from_its_kernel_with_console_and_network(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    demo = get_demo(pytestconfig)
    seed = tmp_path / "seed.iso"
    files = {"meta-data": b'{"local-hostname": "seeded"}', "user-data": b"#!/bin/sh\necho user data ran\n"}
    seed.write_bytes(render_iso(files, "cidata"))
    web, echo = find_free_port(), find_free_port()
    network = f"user,id=net,hostfwd=tcp:127.0.0.1:{web}-:80,hostfwd=tcp:127.0.0.1:{echo}-:7"
    arguments = [
        *("-m", "256", "-smp", "4,sockets=2,cores=1,threads=2", "-uuid", UUID),
        *("-kernel", str(demo.kernel), "-initrd", str(demo.initramfs), "-append", ARGUMENTS),
        *add_disk(demo.disk, "virtio-blk-pci,serial=VIRTIO1"),
        *add_disk(seed, "scsi-hd,bus=scsi.0,serial=SCSI1")[:2],
        *("-device", "virtio-scsi-pci,id=scsi", *add_disk(seed, "scsi-hd,bus=scsi.0,serial=SCSI1")[2:]),
        *("-netdev", network, "-device", "virtio-net-pci,netdev=net,mac=02:00:00:00:00:01"),
    ]
    with QemuProcess(tmp_path, arguments) as machine:
        shape = machine.read_shape()
        assert {key: shape[key] for key in ("sockets", "cores", "threads", "memoryMiB", "uuid")} == {
            "sockets": 2,
            "cores": 1,
            "threads": 2,
            "memoryMiB": 256,
            "uuid": UUID,
        }
        assert [(disk["driver"], disk["serial"]) for disk in shape["disks"]] == [
            ("virtio_scsi", "SCSI1"),
            ("virtio_blk", "VIRTIO1"),
        ]
        assert [(nic["driver"], nic["mac"]) for nic in shape["nics"]] == [("virtio_net", "02:00:00:00:00:01")]
        assert (shape["efi"], shape["secureBoot"], shape["tpm"]) == (False, False, False)
        assert (shape["hostname"], shape["seed"]) == ("seeded", "nocloud")
        machine.read_until("user data ran")
        machine.type("echo sum is $((40 + 2))")
        machine.read_until("sum is 42")
        machine.read_until("eth0 has 10.0.2.15")
        with urllib.request.urlopen(f"http://127.0.0.1:{web}/shape.json", timeout=TIMEOUT) as answer:
            assert b'"sockets":2' in answer.read()
        for word in (b"one", b"two"):
            with socket.create_connection(("127.0.0.1", echo), timeout=TIMEOUT) as connection:
                connection.sendall(word)
                assert connection.recv(100) == word
        assert machine.power_down() == 0


@pytest.mark.parametrize("firmware", ["bios", "efi"])
def test_demo_guest_boots_from_its_disk(tmp_path: Path, pytestconfig: pytest.Config, firmware: str) -> None:
    disk = get_demo(pytestconfig).disk
    arguments = use_firmware(tmp_path, "") if firmware == "efi" else []
    with QemuProcess(tmp_path, ["-m", "256", *arguments, *add_disk(disk, "virtio-blk-pci")]) as machine:
        shape = machine.read_shape()
    assert (shape["efi"], shape["secureBoot"]) == (firmware == "efi", False)
    assert [disk["driver"] for disk in shape["disks"]] == ["virtio_blk"]


def test_full_demo_guest_boots_with_secure_boot_tpm_and_emulated_hardware(
    tmp_path: Path, pytestconfig: pytest.Config, tpm: list[str]
) -> None:
    demo = get_demo(pytestconfig, "full")
    arguments = [
        *("-m", "512", "-machine", "smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on"),
        *use_firmware(tmp_path, ".ms"),
        *tpm,
        *add_disk(demo.disk, "ide-hd,serial=SATA1,bootindex=1"),
        *("-device", "qemu-xhci", *add_disk(get_demo(pytestconfig).disk, "usb-storage,serial=USB1")),
        *("-netdev", "user,id=net", "-device", "e1000,netdev=net", "-device", "i6300esb"),
    ]
    with QemuProcess(tmp_path, arguments) as machine:
        shape = machine.read_shape()
    assert (shape["efi"], shape["secureBoot"], shape["tpm"], shape["tpmVersion"]) == (True, True, True, 2)
    assert [(disk["driver"], disk["serial"]) for disk in shape["disks"]] == [("ahci", "SATA1"), ("usb-storage", "USB1")]
    assert [nic["driver"] for nic in shape["nics"]] == ["e1000"]
    assert shape["watchdog"] == "i6300ESB timer"


def test_existing_demo_guest_image_is_reused(pytestconfig: pytest.Config) -> None:
    demo = get_demo(pytestconfig)
    before = demo.disk.stat()
    assert ensure_demo_image(demo.disk.parent) == demo.disk
    assert demo.disk.stat() == before

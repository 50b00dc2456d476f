"""Attacks on uploads and archives by a user who may edit one namespace, against a running server."""

import gzip
import re
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.e2e.tenants import CDI, Tenant
from tests.e2e.uploads import build_claim, build_volume
from tests.support.archives import (
    build_archive,
    build_directory_bomb,
    build_entry_bomb,
    build_long_chain,
    build_pax_bomb,
)
from tests.support.upprocess import System, wait_until

from virtshape.api.model import JsonObject

MIB = 1 << 20
EVIL = b"evil" * 1024


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with System(tmp_path_factory.mktemp("attacks") / "data", "--launcher", "none") as running:
        yield running
    log = running.log.read_text()
    assert "Traceback" not in log, log


@pytest.fixture(scope="module")
def dev(system: System) -> Tenant:
    return Tenant(system, "dev")


@pytest.fixture(scope="module")
def prod(system: System) -> Tenant:
    return Tenant(system, "prod")


def archive_claim(name: str, size: str = "8Mi") -> JsonObject:
    return build_claim(name, size, **{f"{CDI}.contentType": "archive"})


def read_peak(system: System) -> int:
    """Return the server's peak memory since the last reset, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc", str(system.process.pid), "status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def reset_peak(system: System) -> int:
    """Reset the peak and return the server's current memory, in bytes."""
    Path("/proc", str(system.process.pid), "clear_refs").write_text("5")
    return read_peak(system)


def list_leftovers(system: System) -> list[str]:
    found = [path for name in ("uploads", "scratch") for path in (system.directory / name).glob("*")]
    return [str(path) for path in found]


def test_uploaded_archive_is_unpacked(dev: Tenant, system: System) -> None:
    dev.create(archive_claim("good"))
    dev.wait_until_ready("good")
    assert dev.upload("good", build_archive(etc__motd=b"hello", compression="gz")).code == 200
    volume = dev.get(f"{dev.claims}/good")["spec"]["volumeName"]
    assert (system.directory / "volumes" / volume / "etc" / "motd").read_text() == "hello"


def test_symlink_chain_cannot_write_a_file_of_the_server(dev: Tenant, system: System, tmp_path: Path) -> None:
    victim = tmp_path / "authorized_keys"
    victim.write_text("original")
    dev.create(archive_claim("chain", "64Mi"))
    dev.wait_until_ready("chain")
    answer = dev.upload("chain", build_long_chain(victim))
    assert victim.read_text() == "original"
    assert answer.code >= 400
    assert "the archive contains a symbolic link" in answer.text
    wait_until(lambda: not list_leftovers(system), lambda: str(list_leftovers(system)))


BOMBS = {
    "pax header": (lambda: build_pax_bomb(512 * MIB), "the headers of an entry have more than 1048576 bytes"),
    "entries": (lambda: build_entry_bomb(1_000_000), "it has more than 32768 entries"),
    "directories": (lambda: build_directory_bomb(400), "the archive needs more than the 67108864 bytes"),
}


@pytest.mark.parametrize(("build_bomb", "message"), BOMBS.values(), ids=BOMBS)
def test_small_archive_cannot_use_much_memory(
    dev: Tenant, system: System, build_bomb: Callable[[], bytes], message: str, request: pytest.FixtureRequest
) -> None:
    name = f"bomb-{request.node.callspec.id.replace(' ', '-')}"
    bomb = build_bomb()
    assert len(bomb) < 4 * MIB
    dev.create(archive_claim(name, "64Mi"))
    dev.wait_until_ready(name)
    before = reset_peak(system)
    answer = dev.upload(name, bomb)
    assert read_peak(system) - before < 64 * MIB
    assert (answer.code >= 400, message in answer.text) == (True, True), answer


def make_backed(path: Path, *options: str) -> bytes:
    subprocess.run(["qemu-img", "create", "-q", *options, str(path), "1M"], check=True)  # noqa: S607 - as users do
    return path.read_bytes()


VMDK = b"""# Disk DescriptorFile
version=1
CID=12345678
parentCID=ffffffff
createType="monolithicFlat"
RW 2048 FLAT "/etc/passwd" 0
"""


@pytest.mark.parametrize("form", ["backing", "compressed", "data-file", "vmdk"])
def test_image_that_refers_to_another_file_is_rejected(dev: Tenant, system: System, tmp_path: Path, form: str) -> None:
    backing = ("-f", "qcow2", "-u", "-b", "/etc/passwd", "-F", "raw")
    data_file = ("-f", "qcow2", "-o", f"data_file={tmp_path / 'data'},data_file_raw=on")
    image = {
        "backing": lambda: make_backed(tmp_path / "disk", *backing),
        "compressed": lambda: gzip.compress(make_backed(tmp_path / "disk", *backing)),
        "data-file": lambda: make_backed(tmp_path / "disk", *data_file),
        "vmdk": lambda: VMDK,
    }[form]()
    name = f"image-{form}"
    dev.create(build_claim(name))
    dev.wait_until_ready(name)
    answer = dev.upload(name, image)
    assert answer.code >= 400
    assert "file" in answer.text
    volume = dev.get(f"{dev.claims}/{name}")["spec"]["volumeName"]
    assert list((system.directory / "volumes" / volume).iterdir()) == []


def test_users_cannot_write_status_of_storage_objects(dev: Tenant, prod: Tenant) -> None:
    content = {"boundVolumeSnapshotContentName": "snapcontent-of-prod", "readyToUse": True, "restoreSize": "8Mi"}
    snapshots = "/apis/snapshot.storage.k8s.io/v1/namespaces/dev/volumesnapshots"
    snapshot = {"metadata": {"name": "stolen"}, "spec": {"source": {"persistentVolumeClaimName": "none"}}}
    kind = {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot"}
    code, made = dev.request("POST", snapshots, {**kind, **snapshot, "status": content})
    assert (code, made.get("status")) == (201, None), made
    merge = {"Content-Type": "application/merge-patch+json"}
    assert dev.request("PATCH", f"{snapshots}/stolen/status", {"status": content}, **merge)[0] == 403
    dev.request("PATCH", f"{snapshots}/stolen", {"status": content}, **merge)
    assert "boundVolumeSnapshotContentName" not in dev.get(f"{snapshots}/stolen").get("status", {})
    prod.create(build_claim("bound"))
    prod.wait_until_ready("bound")
    claim = build_claim("stolen")
    claim["spec"]["volumeName"] = prod.get(f"{prod.claims}/bound")["spec"]["volumeName"]
    made = dev.create({**claim, "status": {"phase": "Bound", "capacity": {"storage": "8Mi"}}})
    assert made["status"] == {"phase": "Pending"}
    assert dev.request("PATCH", f"{dev.claims}/stolen/status", {"status": {"phase": "Bound"}}, **merge)[0] == 403


def own(claim: JsonObject, name: str, uid: str) -> JsonObject:
    owner = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "name": name, "uid": uid}
    claim["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    claim["metadata"]["finalizers"] = ["example.com/hold"]  # otherwise the garbage collector deletes the claim
    claim["metadata"]["annotations"][f"{CDI}.pod.ready"] = "true"
    return claim


def test_owner_reference_grants_no_access_to_a_disk_of_another_namespace(
    dev: Tenant, prod: Tenant, system: System
) -> None:
    uid = prod.create(build_volume("root"))["metadata"]["uid"]
    prod.wait_for_phase("root", "UploadReady")
    dev.create(own(build_claim("root"), "root", uid))
    dev.upload("root", EVIL, "/v1beta1/upload-async")
    dev.create(build_claim("later"))
    dev.wait_until_ready("later")
    assert dev.upload("later", b"good" * 1024).code == 200  # this shows that earlier requests were processed
    assert not (system.directory / "uploads" / uid).exists()
    assert prod.get(f"{prod.volumes}/root")["status"]["phase"] == "UploadReady"
    assert prod.upload("root", b"good" * 1024).code == 200
    volume = prod.get(f"{prod.claims}/root")["spec"]["volumeName"]
    assert (system.directory / "volumes" / volume / "disk.img").read_bytes().startswith(b"good")


def test_volume_name_grants_no_access_to_a_disk_of_another_namespace(dev: Tenant, prod: Tenant) -> None:
    prod.create(build_claim("disk"))
    prod.wait_until_ready("disk")
    volume = prod.get(f"{prod.claims}/disk")["spec"]["volumeName"]
    thief = build_claim("thief", **{f"{CDI}.pod.ready": "true", "pv.kubernetes.io/bind-completed": "yes"})
    thief["spec"]["volumeName"] = volume
    dev.create(thief)
    assert dev.upload("thief", EVIL, "/v1beta1/upload-async").code == 503
    assert prod.upload("disk", b"good" * 1024).code == 200


KEYS = {
    "file in the parent": "../escaped",
    "directory of volumes": "../volumes",
    "parent": "..",
    "directory itself": ".",
    "root": "/",
    "subdirectory": "a/b",
    "too long": "x" * 5000,
    "null byte": "a\0b",
}


@pytest.fixture(scope="module")
def attempts(dev: Tenant) -> dict[str, Future[tuple[bool, object]]]:
    """For each key, upload to a claim whose owner has this UID; in parallel, because a rejection takes ten seconds."""

    def attempt(number: int, key: str) -> tuple[bool, object]:
        name = f"key-{number}"
        code, answer = dev.request("POST", dev.claims, own(build_claim(name), name, key))
        if code != 201:
            return 400 <= code < 500, answer
        said = dev.upload(name, EVIL, "/v1beta1/upload-async")
        return 400 <= said.code < 500 or said.code == 503, said

    with ThreadPoolExecutor(len(KEYS)) as pool:
        return {key: pool.submit(attempt, number, key) for number, key in enumerate(KEYS.values())}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_upload_with_an_invalid_owner_uid_is_rejected(
    system: System, key: str, attempts: dict[str, Future[tuple[bool, object]]]
) -> None:
    rejected, said = attempts[key].result()
    assert rejected, said
    assert not list(system.directory.parent.glob("**/*escaped*"))
    assert (system.directory / "volumes").is_dir()

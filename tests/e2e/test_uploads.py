"""Uploads to a server process with the same requests as KubeVirt's clients."""

import gzip
import io
import os
import re
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.uploads import ASYNC, CDI, CLAIMS, SYNC, VOLUMES, Uploader, build_claim, build_volume
from tests.support.upprocess import System, wait_until

MIB = 1 << 20
DISK = (b"upload" * 1000).ljust(4 * MIB, b"\0")


@pytest.fixture(scope="module")
def uploader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Uploader]:
    with System(tmp_path_factory.mktemp("uploads") / "data", "--launcher", "none") as system:
        uploader = Uploader(system)
        yield uploader
        uploader.wait_until_empty()
    log = system.log.read_text()
    assert "ERROR" not in log, log
    assert "Traceback" not in log, log


def test_claim_accepts_the_upload_requests_of_virtctl(uploader: Uploader) -> None:
    uploader.create(build_claim("stock"))
    uploader.wait_until_ready("stock")
    assert uploader.annotation("stock", "pod.phase") == "Running"
    code, config = uploader.system.request("GET", "/apis/cdi.kubevirt.io/v1beta1/cdiconfigs/config")
    assert (code, config["status"]["uploadProxyURL"]) == (200, uploader.system.url)
    assert config["status"]["uploadProxyCA"].startswith("-----BEGIN CERTIFICATE-----")
    token = uploader.get_token("stock")
    assert uploader.send(token, method="HEAD", path=ASYNC) == (200, "")
    assert uploader.send(token, DISK) == (200, "")
    uploader.wait_until_filled("stock")
    assert uploader.read_disk("stock") == DISK.ljust(8 * MIB, b"\0")
    assert uploader.annotation("stock", "pod.ready") == "false"
    assert [(line["user"], line["verb"], line["resource"], line["code"]) for line in uploader.audit("stock")] == [
        ("admin", "create", "persistentvolumeclaims", 200)
    ]


def test_data_volume_accepts_the_upload_requests_of_virtctl(uploader: Uploader) -> None:
    uploader.create(build_volume("volume"))

    def phase() -> str | None:
        phase: str | None = uploader.system.request("GET", f"{VOLUMES}/volume")[1].get("status", {}).get("phase")
        return phase

    wait_until(lambda: phase() == "UploadReady", "the DataVolume is not ready for an upload")
    assert uploader.annotation("volume", "upload.target") == ""
    assert uploader.send(uploader.get_token("volume"), DISK) == (200, "")
    uploader.wait_until_filled("volume")
    wait_until(lambda: phase() == "Succeeded", "the DataVolume has not succeeded")
    assert uploader.read_disk("volume") == DISK.ljust(8 * MIB, b"\0")


def test_data_volume_size_may_come_from_the_upload(uploader: Uploader) -> None:
    uploader.create(build_volume("sizeless", size=None))
    wait_until(
        lambda: (
            uploader.system.request("GET", f"{VOLUMES}/sizeless")[1].get("status", {}).get("phase") == "UploadReady"
        ),
        "the DataVolume is not ready for an upload",
    )
    assert uploader.send(uploader.get_token("sizeless"), DISK) == (200, "")
    uploader.wait_until_filled("sizeless")
    assert uploader.read_disk("sizeless") == DISK


FORM = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n%b\r\n--b--\r\n'
WAYS: dict[str, tuple[str, bytes | list[bytes], dict[str, str]]] = {
    "synchronous": (SYNC, DISK, {}),
    "newer": ("/v1beta1/upload", DISK, {}),
    "in chunks": (ASYNC, [DISK[:MIB], DISK[MIB:]], {}),
    "compressed": (ASYNC, gzip.compress(DISK), {}),
    "form": ("/v1beta1/upload-form", FORM % DISK, {"Content-Type": "multipart/form-data; boundary=b"}),
    "asynchronous form": (
        "/v1beta1/upload-form-async",
        FORM % DISK,
        {"Content-Type": "multipart/form-data; boundary=b"},
    ),
}


@pytest.mark.parametrize(("path", "body", "headers"), WAYS.values(), ids=WAYS)
def test_every_upload_endpoint_accepts_a_disk(
    uploader: Uploader, path: str, body: bytes | list[bytes], headers: dict[str, str], request: pytest.FixtureRequest
) -> None:
    name = f"way-{request.node.callspec.id.replace(' ', '-')}"
    uploader.create(build_claim(name))
    uploader.wait_until_ready(name)
    assert uploader.send(uploader.get_token(name), body, path, **headers) == (200, "")
    if not path.endswith("async"):
        assert uploader.annotation(name, "pod.phase") == "Succeeded", "a synchronous upload is complete when it returns"
    uploader.wait_until_filled(name)
    assert uploader.read_disk(name) == DISK.ljust(8 * MIB, b"\0")


def test_archive_is_unpacked_into_files(uploader: Uploader) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("etc/motd")
        member.size = 5
        archive.addfile(member, io.BytesIO(b"hello"))
    uploader.create(build_claim("archive", **{f"{CDI}.contentType": "archive"}))
    uploader.wait_until_ready("archive")
    assert uploader.send(uploader.get_token("archive"), packed.getvalue(), SYNC) == (200, "")
    volume = uploader.claim("archive")["spec"]["volumeName"]
    assert (uploader.system.directory / "volumes" / volume / "etc" / "motd").read_text() == "hello"


UNUSABLE: dict[str, tuple[str, bytes, int, str]] = {
    "nothing": (ASYNC, b"", 400, "the upload is empty"),
    "larger disk": (ASYNC, bytes(9 * MIB), 400, "the image contains a disk of 9437184 bytes; at most 8388608"),
    "much too large": (ASYNC, bytes(80 * MIB), 400, "83886080 bytes do not fit into a claim of 8388608"),
    "broken": (ASYNC, b"QFI\xfb" + bytes(1000), 400, "its qcow2 header is damaged"),
    "not a form": ("/v1beta1/upload-form", DISK, 400, "not a form"),
    "larger after decompression": (SYNC, gzip.compress(bytes(100 * MIB)), 500, "Saving stream failed: "),
}


@pytest.mark.parametrize(("path", "body", "code", "message"), UNUSABLE.values(), ids=UNUSABLE)
def test_claim_accepts_a_valid_upload_after_an_unusable_one(
    uploader: Uploader, path: str, body: bytes, code: int, message: str, request: pytest.FixtureRequest
) -> None:
    name = f"unusable-{request.node.callspec.id.replace(' ', '-')}"
    uploader.create(build_claim(name))
    uploader.wait_until_ready(name)
    response = uploader.send(uploader.get_token(name), body, path)
    assert (response.status, message in response.message) == (code, True), response
    wait_until(
        lambda: uploader.send(uploader.get_token(name), DISK).status == 200, "the claim does not accept another upload"
    )
    uploader.wait_until_filled(name)
    assert uploader.read_disk(name) == DISK.ljust(8 * MIB, b"\0")


def test_malicious_content_type_is_parsed_quickly(uploader: Uploader) -> None:
    uploader.create(build_claim("form"))
    uploader.wait_until_ready("form")
    token, process = uploader.get_token("form"), Path(f"/proc/{uploader.system.process.pid}/stat")

    def read_cpu_seconds() -> float:
        return sum(map(int, process.read_text().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")

    before = read_cpu_seconds()
    for header in ("multipart/form-data;" * 3000, "multipart/form-data;" + "boundary" * 7500):
        response = uploader.send(token, b"x", "/v1beta1/upload-form", **{"Content-Type": header})
        assert (response.status, "not a form" in response.message) == (400, True)
    assert read_cpu_seconds() - before < 1


def test_upload_requires_a_valid_upload_token(uploader: Uploader) -> None:
    uploader.create(build_claim("guarded"))
    uploader.create({**build_claim("plain"), "metadata": {"name": "plain"}})
    uploader.wait_until_ready("guarded")
    good = uploader.get_token("guarded")
    assert uploader.request_token("nowhere")[0] == 404
    code, refusal = uploader.request_token("plain")
    assert (code, "PVC plain accepts no upload" in refusal["message"]) == (409, True)
    assert uploader.request_token("guarded", Authorization="")[0] == 401
    assert uploader.send("", DISK).status == 400
    assert uploader.send("nonsense", DISK).status == 401
    assert uploader.send(good[:-1] + ("0" if good[-1] != "0" else "1"), DISK).status == 401
    assert uploader.send(uploader.system.config["token"], DISK).status == 401, "an upload token is not an API token"
    assert uploader.send(good, method="GET").status == 405
    code, _ = uploader.system.request("GET", f"{CLAIMS}/guarded", Authorization=f"Bearer {good}")
    assert code == 401, "an upload token is not an API token"
    assert uploader.annotation("guarded", "pod.phase") == "Running"


def test_upload_token_is_not_valid_for_a_new_claim_with_the_same_name(uploader: Uploader) -> None:
    uploader.create(build_claim("first"))
    uploader.wait_until_ready("first")
    token = uploader.get_token("first")
    assert uploader.system.request("DELETE", f"{CLAIMS}/first")[0] == 200
    wait_until(lambda: uploader.system.request("GET", f"{CLAIMS}/first")[0] == 404, "the claim was not deleted")
    assert uploader.send(token, DISK).status == 404
    uploader.create(build_claim("first"))
    uploader.wait_until_ready("first")
    assert uploader.send(token, DISK).status == 401


def test_claim_rejects_a_concurrent_and_a_second_upload(uploader: Uploader) -> None:
    uploader.wait_until_empty()
    uploader.create(build_claim("once"))
    uploader.wait_until_ready("once")
    token = uploader.get_token("once")
    first = uploader.begin(token, len(DISK))
    first.send(DISK[:MIB])
    uploader.wait_until_arriving()
    wait_until(lambda: uploader.send(token, DISK).status == 503, "the second upload was not refused")
    first.send(DISK[MIB:])
    assert first.getresponse().status == 200
    first.close()
    uploader.wait_until_filled("once")
    assert uploader.send(token, DISK) == (409, "PVC once already finished uploading\n")


def test_files_of_an_interrupted_upload_are_removed_and_the_upload_can_be_repeated(uploader: Uploader) -> None:
    uploader.wait_until_empty()
    uploader.create(build_claim("broken"))
    uploader.wait_until_ready("broken")
    token = uploader.get_token("broken")
    connection = uploader.begin(token, len(DISK))
    connection.send(DISK[:MIB])
    uploader.wait_until_arriving()
    connection.close()
    uploader.wait_until_empty()
    assert uploader.send(token, DISK).status == 200
    uploader.wait_until_filled("broken")
    assert [line["code"] for line in uploader.audit("broken")] == [499, 200]


def test_upload_to_a_deleted_claim_is_discarded(uploader: Uploader) -> None:
    uploader.wait_until_empty()
    uploader.create(build_claim("deleted"))
    uploader.wait_until_ready("deleted")
    connection = uploader.begin(uploader.get_token("deleted"), len(DISK))
    connection.send(DISK[:MIB])
    uploader.wait_until_arriving()
    assert uploader.system.request("DELETE", f"{CLAIMS}/deleted")[0] == 200
    wait_until(lambda: uploader.system.request("GET", f"{CLAIMS}/deleted")[0] == 404, "the claim was not deleted")
    connection.send(DISK[MIB:])
    answer = connection.getresponse()
    assert (answer.status, b"the claim no longer waits for an upload" in answer.read()) == (400, True)
    connection.close()


def test_claim_waiting_for_its_first_consumer_is_not_ready_for_upload(uploader: Uploader) -> None:
    tree = build_claim("waiting")
    tree["spec"]["storageClassName"] = "local-wffc"
    uploader.create(tree)
    response = uploader.send(uploader.get_token("waiting"), DISK)
    assert response == (503, "PVC waiting is not ready for an upload\n")


def test_large_upload_uses_little_memory_and_does_not_block_other_clients(uploader: Uploader) -> None:
    uploader.create(build_claim("large", "600Mi"))
    uploader.wait_until_ready("large")
    token = uploader.get_token("large")
    before = _read_peak(uploader.system)
    response: list[object] = []
    sending = threading.Thread(target=lambda: response.append(uploader.send(token, _endless(500 * MIB))))
    sending.start()
    while sending.is_alive():
        assert uploader.system.request("GET", "/api/v1/namespaces/default")[0] == 200
    assert response == [(200, "")]
    assert _read_peak(uploader.system) - before < 100 * MIB
    uploader.wait_until_filled("large")


def test_server_shutdown_deletes_only_partial_uploads(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with System(data, "--launcher", "none") as system:
        uploader = Uploader(system)
        uploader.create(build_claim("kept"))
        uploader.wait_until_ready("kept")
        connection = uploader.begin(uploader.get_token("kept"), len(DISK))
        connection.send(DISK[:MIB])
        uploader.wait_until_arriving()
        assert system.stop() == 0
        connection.close()
        assert list((data / "uploads").iterdir()) == []
    with System(data, "--launcher", "none") as system:
        uploader = Uploader(system)
        wait_until(lambda: uploader.send(uploader.get_token("kept"), DISK).status == 200, "the upload is refused")
        system.process.kill()
        system.process.wait()
    with System(data, "--launcher", "none") as system:
        uploader = Uploader(system)
        uploader.wait_until_filled("kept")
        assert uploader.read_disk("kept") == DISK.ljust(8 * MIB, b"\0")


def test_server_with_simulated_guests_issues_no_upload_tokens(tmp_path: Path) -> None:
    with System(tmp_path / "data", "--launcher", "simulate") as system:
        uploader = Uploader(system)
        uploader.create(build_claim("played"))
        uploader.wait_until_ready("played")
        code, refusal = uploader.request_token("played")
        assert (code, "uploads need a launcher" in refusal["message"]) == (501, True)


def _endless(size: int) -> Iterator[bytes]:
    piece = os.urandom(MIB)
    for _ in range(size // MIB):
        yield piece


def _read_peak(system: System) -> int:
    """Return the server's peak memory in bytes."""
    status = Path("/proc", str(system.process.pid), "status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024

"""DataVolumes imported from a web server on loopback: formats, credentials, resumed downloads, retries and restarts."""

import asyncio
import base64
import gzip
import hashlib
import lzma
import ssl
import subprocess
import tarfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from tests.support.controllers import ControlledSystem, open_controlled_system
from tests.support.deadline import OTHER_SECONDS
from tests.support.storage import MIB, find_image, volume_tree, wait_for_event, wait_for_volume, wait_until

from virtshape.api.cdi import DataVolume
from virtshape.api.codec import to_tree
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.model import JsonObject
from virtshape.apiserver.auth.certificates import Authority, make_key

CONTENT = b"guest".ljust(64 << 10, b"x") + bytes(MIB) + b"end".ljust(512, b"y")


@asynccontextmanager
async def allow_loopback(directory: Path) -> AsyncIterator[ControlledSystem]:
    """Run a server whose imports may reach the loopback address."""
    (directory / "config.yaml").write_text("imports: {allowedNetworks: [127.0.0.0/8]}\n")
    async with open_controlled_system(directory) as system:
        yield system


class InterruptingFileServer:
    """A server with some files; each number in `allowance` makes it close one connection after that many bytes."""

    def __init__(self, secrets: ssl.SSLContext | None = None) -> None:
        self.files: dict[str, bytes] = {}
        self.allowance: list[int] = []
        self.requests: list[dict[str, str]] = []
        self.gate = threading.Event()
        self.gate.set()
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                web.answer(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class has it
                del format, args

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.scheme = "http"
        if secrets is not None:
            self.scheme = "https"
            self.server.socket = secrets.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, name: str) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server.server_address[1]}/{name}"

    def close(self) -> None:
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()

    def answer(self, asked: BaseHTTPRequestHandler) -> None:
        self.requests.append({key.lower(): value for key, value in asked.headers.items()})
        content = self.files.get(asked.path.strip("/"))
        if content is None:
            asked.send_error(404)
            return
        start = int(asked.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        asked.send_response(206 if start else 200)
        asked.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        if start:
            asked.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        asked.send_header("Content-Length", str(len(content) - start))
        asked.end_headers()
        rest = content[start:]
        if self.allowance:
            asked.wfile.write(rest[: self.allowance.pop(0)])
            asked.wfile.flush()
            self.gate.wait(OTHER_SECONDS)
            asked.close_connection = True
            asked.connection.shutdown(2)
            return
        asked.wfile.write(rest)


@pytest.fixture
def web() -> Iterator[InterruptingFileServer]:
    serving = InterruptingFileServer()
    yield serving
    serving.close()


def http_tree(url: str, size: str | None = "8Mi", *, spec: JsonObject | None = None, **http: Any) -> JsonObject:
    return volume_tree("dv1", size, source={"http": {"url": url, **http}}, **(spec or {}))


def has_failed(volume: DataVolume) -> bool:
    """Return True if the import has failed and has not been retried yet."""
    return any(one.reason == "Error" for one in (volume.status.conditions if volume.status else None) or ())


def make_qcow2(path: Path, content: bytes, size: int) -> bytes:
    raw = path / "raw"
    raw.write_bytes(content.ljust(size, b"\0"))
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", raw, path / "qcow2"], check=True)  # noqa: S607 - as users do
    return (path / "qcow2").read_bytes()


FORMS: dict[str, Callable[[Path], bytes]] = {
    "raw": lambda _: CONTENT,
    "raw in gz": lambda _: gzip.compress(CONTENT),
    "raw in xz": lambda _: lzma.compress(CONTENT),
    "qcow2": lambda path: make_qcow2(path, CONTENT, 4 * MIB),
    "qcow2 in gz": lambda path: gzip.compress(make_qcow2(path, CONTENT, 4 * MIB)),
}


@pytest.mark.parametrize("form", FORMS)
async def test_imported_image_becomes_a_disk_of_the_claims_size(
    tmp_path: Path, web: InterruptingFileServer, form: str
) -> None:
    web.files["disk"] = FORMS[form](tmp_path)
    (tmp_path / "data").mkdir()
    async with allow_loopback(tmp_path / "data") as system, system.run_controllers("none"):
        await system.create(http_tree(web.url("disk")))
        volume = await wait_for_volume(system)
        assert to_tree(volume.status)["progress"] == "100.0%"
        image = await find_image(system, "dv1")
        assert image.read_bytes() == CONTENT.ljust(8 * MIB, b"\0")
        assert image.stat().st_mode & 0o777 == 0o600
        assert [one.name for one in image.parent.iterdir()] == ["disk.img"]


async def test_data_volume_size_defaults_to_the_virtual_size_of_the_image(
    tmp_path: Path, web: InterruptingFileServer
) -> None:
    web.files["disk"] = make_qcow2(tmp_path, CONTENT, 4 * MIB)
    (tmp_path / "data").mkdir()
    async with allow_loopback(tmp_path / "data") as system, system.run_controllers("none"):
        await system.create(http_tree(web.url("disk"), size=None))
        await wait_for_volume(system)
        claim = await system.client.get(PersistentVolumeClaim, "dv1", "default")
        assert claim.status is not None
        assert claim.status.capacity == {"storage": "4Mi"}
        assert (await find_image(system, "dv1")).read_bytes() == CONTENT.ljust(4 * MIB, b"\0")
        assert len(web.requests) == 1


async def test_import_sends_configured_headers_and_credentials(tmp_path: Path, web: InterruptingFileServer) -> None:
    web.files["disk"] = CONTENT
    async with allow_loopback(tmp_path) as system, system.run_controllers("none"):
        login = {"accessKeyId": "me", "secretKey": "pass"}
        await system.create(
            http_tree(web.url("disk"), secretRef="login", extraHeaders=["X-A: 1"], secretExtraHeaders=["more"])
        )
        assert "Secret default/login not found" in await wait_for_event(system, "dv1", "NotFound")
        for name, data in (("login", login), ("more", {"any": "X-B: 2"})):
            metadata = {"name": name, "namespace": "default"}
            await system.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})
        await wait_for_volume(system)
        asked = web.requests[-1]
        assert asked["authorization"] == f"Basic {base64.b64encode(b'me:pass').decode()}"
        assert (asked["x-a"], asked["x-b"]) == ("1", "2")


@pytest.fixture
def authority() -> Authority:
    return Authority.create(make_key(), "an authority of the house")


@pytest.fixture
def secure(authority: Authority, tmp_path: Path) -> Iterator[InterruptingFileServer]:
    """A TLS server with a private CA."""
    credential = authority.issue_server(["127.0.0.1"])
    pem = tmp_path / "server.pem"
    pem.write_bytes(credential.key + credential.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    serving = InterruptingFileServer(context)
    yield serving
    serving.close()


async def test_server_with_a_certificate_of_the_configured_ca_is_trusted(
    tmp_path: Path, secure: InterruptingFileServer, authority: Authority
) -> None:
    secure.files["disk"] = CONTENT
    (tmp_path / "data").mkdir()
    async with allow_loopback(tmp_path / "data") as system, system.run_controllers("none"):
        metadata = {"name": "trust", "namespace": "default"}
        data = {"ca.pem": authority.pem.decode()}
        await system.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
        await system.create(http_tree(secure.url("disk"), certConfigMap="trust"))
        await wait_for_volume(system)
        assert (await find_image(system, "dv1")).read_bytes() == CONTENT.ljust(8 * MIB, b"\0")


async def test_server_with_an_unknown_certificate_is_not_trusted(
    tmp_path: Path, secure: InterruptingFileServer
) -> None:
    secure.files["disk"] = CONTENT
    (tmp_path / "data").mkdir()
    async with allow_loopback(tmp_path / "data") as system, system.run_controllers("none"):
        await system.create(http_tree(secure.url("disk")))
        volume = await wait_until(system, DataVolume, "dv1", has_failed)
        assert "certificate verify failed" in to_tree(volume.status)["conditions"][2]["message"]
        assert secure.requests == []


async def test_interrupted_download_is_resumed(tmp_path: Path, web: InterruptingFileServer) -> None:
    web.files["disk"] = CONTENT
    web.allowance = [70000]
    async with allow_loopback(tmp_path) as system, system.run_controllers("none"):
        await system.create(http_tree(web.url("disk")))
        await wait_for_volume(system)
        assert (await find_image(system, "dv1")).read_bytes() == CONTENT.ljust(8 * MIB, b"\0")
        assert [asked.get("range") for asked in web.requests] == [None, "bytes=70000-"]


async def test_import_reports_progress_and_never_exposes_partial_data(
    tmp_path: Path, web: InterruptingFileServer
) -> None:
    web.files["disk"] = CONTENT
    web.allowance = [600_000]
    web.gate.clear()
    async with allow_loopback(tmp_path) as system, system.run_controllers("none"):
        await system.create(http_tree(web.url("disk")))
        all_that_came = f"{80 * 600_000 / len(CONTENT):.2f}%"
        volume = await wait_until(
            system, DataVolume, "dv1", lambda one: one.status and one.status.progress == all_that_came
        )
        status = to_tree(volume.status)
        assert status["phase"] == "ImportInProgress"
        assert status["conditions"][2]["status"] == "True"
        image = await find_image(system, "dv1")
        assert list(image.parent.iterdir()) == []
        web.gate.set()
        await wait_for_volume(system)
        assert image.read_bytes() == CONTENT.ljust(8 * MIB, b"\0")


async def test_interrupted_import_completes_after_a_restart_of_the_controllers(
    tmp_path: Path, web: InterruptingFileServer
) -> None:
    web.files["disk"] = CONTENT
    web.allowance = [600_000]
    web.gate.clear()
    async with allow_loopback(tmp_path) as system:
        await system.create(http_tree(web.url("disk")))
        async with system.run_controllers("none"):
            await wait_until(
                system, DataVolume, "dv1", lambda one: one.status and (one.status.progress or "N/A") != "N/A"
            )
        web.gate.set()
        assert not list((tmp_path / "volumes").glob("*/disk.img"))
        async with system.run_controllers("none"):
            await wait_for_volume(system)
            assert (await find_image(system, "dv1")).read_bytes() == CONTENT.ljust(8 * MIB, b"\0")
            while list((tmp_path / "scratch").iterdir()):
                await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("name", "http", "spec", "message"),
    [
        ("large", {}, {}, "8388608"),
        ("disk", {"checksum": "sha256:" + "0" * 64}, {}, "the file's checksum is sha256:"),
        ("disk", {"checksum": "crc:1"}, {}, "invalid checksum"),
        ("backed", {}, {}, "it is backed by another file"),
        ("disk", {}, {"contentType": "archive"}, "the archive cannot be unpacked"),
    ],
    ids=["too large", "wrong checksum", "invalid checksum", "backing file", "not an archive"],
)
async def test_import_from_an_unusable_source_fails_permanently(
    tmp_path: Path, web: InterruptingFileServer, name: str, http: JsonObject, spec: JsonObject, message: str
) -> None:
    (tmp_path / "data").mkdir()
    backed = tmp_path / "backed"
    subprocess.run(
        ["qemu-img", "create", "-q", "-f", "qcow2", "-u", "-b", "/etc/passwd", "-F", "raw", backed, "1M"],  # noqa: S607 - as users do
        check=True,
    )
    web.files = {"disk": CONTENT, "large": b"z" * (9 * MIB), "backed": backed.read_bytes()}
    async with allow_loopback(tmp_path / "data") as system, system.run_controllers("none"):
        await system.create(http_tree(web.url(name), spec=spec, **http))
        volume = await wait_for_volume(system, phase="Failed")
        assert message in to_tree(volume.status)["conditions"][2]["message"]
        assert not list((tmp_path / "data" / "volumes").glob("*/*"))


async def test_failed_import_is_counted_and_retried(tmp_path: Path, web: InterruptingFileServer) -> None:
    async with allow_loopback(tmp_path) as system, system.run_controllers("none"):
        await system.create(http_tree(web.url("disk")))
        volume = await wait_until(system, DataVolume, "dv1", has_failed)
        status = to_tree(volume.status)
        assert (status["phase"], status["restartCount"] >= 1) == ("ImportInProgress", True)
        assert "returned status 404" in status["conditions"][2]["message"]
        web.files["disk"] = CONTENT
        volume = await wait_for_volume(system)
        assert to_tree(volume.status)["restartCount"] >= 1


async def test_imported_archive_is_unpacked_into_files(tmp_path: Path, web: InterruptingFileServer) -> None:
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("etc/name")
        member.size = 5
        archive.addfile(member, BytesIO(b"guest"))
    web.files["files.tar.gz"] = packed.getvalue()
    async with allow_loopback(tmp_path) as system, system.run_controllers("none"):
        await system.create(http_tree(web.url("files.tar.gz"), spec={"contentType": "archive"}))
        await wait_for_volume(system)
        directory = (await find_image(system, "dv1")).parent
        assert {one.name for one in directory.iterdir()} == {"etc"}
        assert (directory / "etc" / "name").read_bytes() == b"guest"


async def test_files_of_a_data_volume_deleted_during_an_import_are_removed(
    tmp_path: Path, web: InterruptingFileServer
) -> None:
    web.files["disk"] = CONTENT
    web.allowance = [600_000]
    web.gate.clear()
    async with allow_loopback(tmp_path) as system, system.run_controllers("none"):
        await system.create(http_tree(web.url("disk")))
        await wait_until(system, DataVolume, "dv1", lambda one: one.status and (one.status.progress or "N/A") != "N/A")
        await system.client.delete(DataVolume, "dv1", "default")
        web.gate.set()
        await system.wait_until_gone(PersistentVolumeClaim, "dv1")
        while list((tmp_path / "volumes").iterdir()) or list((tmp_path / "scratch").iterdir()):
            await asyncio.sleep(0.01)

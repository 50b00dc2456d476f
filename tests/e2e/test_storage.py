"""Volumes and images of a server process: output of commands, and recovery after a kill."""

import gzip
import hashlib
import json
import lzma
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.support.containers import build_layer, build_manifest, digest
from tests.support.containers import pack as pack_layer
from tests.support.upprocess import TIMEOUT, System, call_virtshape, wait_until
from tests.support.webserver import Request, Response, serve, serve_file

MIB = 1 << 20
CONTENT = b"guest" * 1000 + bytes(4 * MIB)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    data = allow_loopback(tmp_path_factory.mktemp("storage") / "data")
    with System(data, "--launcher", "none") as system:
        yield system
    log = system.log.read_text()
    assert "Traceback" not in log, log


def allow_loopback(directory: Path) -> Path:
    """Prepare a data directory whose imports may reach the loopback address."""
    directory.mkdir(mode=0o700)
    (directory / "config.yaml").write_text("imports: {allowedNetworks: [127.0.0.0/8]}\n")
    return directory


def call(system: System, *arguments: str) -> subprocess.CompletedProcess[str]:
    return call_virtshape("image", *arguments, "--data-dir", system.directory)


def list_images(system: System) -> list[dict[str, str]]:
    listed = call(system, "list", "-o", "json")
    assert listed.returncode == 0, listed.stderr
    images: list[dict[str, str]] = json.loads(listed.stdout)["images"]
    return images


def get(system: System, path: str) -> Any:
    code, answer = system.request("GET", path)
    return answer if code == 200 else None


VOLUMES = "/apis/cdi.kubevirt.io/v1beta1/namespaces/default/datavolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def wait_until_removed(system: System) -> None:
    """Wait until all images are deleted, so that their names can be reused."""
    wait_until(lambda: not get(system, VOLUMES)["items"], "a volume was not deleted")
    wait_until(lambda: not get(system, CLAIMS)["items"], "a claim was not deleted")
    wait_until(lambda: not list((system.directory / "volumes").glob("*")), "a volume's files were not deleted")


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["raw", "compressed"])
def test_image_command_adds_a_file_as_an_image_and_removes_it(
    running: System, tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / "disk"
    file.write_bytes(pack(CONTENT))
    defaults = ["--default-instancetype", "u1.small", "--default-preference", "fedora"]
    added = call(running, "add", "golden", str(file), *defaults)
    assert added.returncode == 0, added.stderr
    assert added.stdout.splitlines()[1].split()[:6] == ["golden", "default", "5Mi", "Ready", "u1.small", "fedora"]
    (image,) = list_images(running)
    assert (image["defaultInstancetype"], image["defaultPreference"]) == ("u1.small", "fedora")
    assert find_disk(running, "golden").read_bytes()[: len(CONTENT)] == CONTENT
    claim = get(running, f"{CLAIMS}/golden")
    assert claim["metadata"]["labels"]["instancetype.kubevirt.io/default-instancetype"] == "u1.small"
    assert claim["metadata"]["annotations"]["instancetype.kubevirt.io/defaultPreference"] == "fedora"
    again = call(running, "add", "golden", str(file))
    assert again.returncode == 1
    assert "already exists" in again.stderr
    assert "virtshape image rm golden" in again.stderr
    assert call(running, "rm", "golden").stdout == "golden removed\n"
    assert list_images(running) == []
    wait_until_removed(running)
    wait_until(lambda: not list((running.directory / "uploads").iterdir()), "the uploaded file was not deleted")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gz", "xz"])
def test_image_command_adds_an_image_from_a_url_if_its_checksum_matches(
    running: System, pack: Callable[[bytes], bytes]
) -> None:
    content = pack(CONTENT)
    with serve(serve_file(content)) as server:
        right, wrong = (f"sha256:{hashlib.sha256(one).hexdigest()}" for one in (content, b"something else"))
        refused = call(running, "add", "fetched", f"{server.url}/disk", "--checksum", wrong)
        assert (refused.returncode, "the file's checksum is sha256:" in refused.stderr) == (1, True), refused.stderr
        assert list_images(running) == []
        wait_until_removed(running)
        added = call(running, "add", "fetched", f"{server.url}/disk", "--checksum", right)
    assert added.returncode == 0, added.stderr
    assert added.stdout.splitlines()[1].split()[:4] == ["fetched", "default", "5Mi", "Ready"]
    assert find_disk(running, "fetched").read_bytes()[: len(CONTENT)] == CONTENT
    assert call(running, "rm", "fetched").returncode == 0
    wait_until_removed(running)


def test_image_command_adds_a_container_image(running: System) -> None:
    manifest, blobs = build_manifest([pack_layer(build_layer({"disk/disk.img": CONTENT}))])
    held = {"manifests/v1": manifest, f"manifests/{digest(manifest)}": manifest}
    held |= {f"blobs/{name}": content for name, content in blobs.items()}

    def respond(request: Request) -> Response:
        content = held.get(request.path.removeprefix("/v2/team/disk/"))
        return Response(status=404) if content is None else Response(content)

    with serve(respond) as server:
        added = call(running, "add", "contained", f"docker://{server.address}/team/disk:v1")
        assert added.returncode == 0, added.stderr
    assert find_disk(running, "contained").read_bytes()[: len(CONTENT)] == CONTENT
    assert call(running, "rm", "contained").returncode == 0
    wait_until_removed(running)


def find_disk(system: System, claim: str) -> Path:
    """Return the path of a claim's disk."""
    found: str = get(system, f"{CLAIMS}/{claim}")["spec"]["volumeName"]
    return system.directory / "volumes" / found / "disk.img"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["no-such-file"], 1, "no-such-file does not exist"),
        (["http://127.0.0.1:1/disk", "--size", "1Gi"], 1, "golden was not added: http://127.0.0.1:1/disk"),
        (["{file}", "--size", "1Mi"], 1, "golden was not added: the image contains a disk of"),
        (["{file}", "--size", "little"], 2, "expected a quantity"),
        (["{file}", "--checksum", "sha256:00"], 2, "--checksum requires a URL"),
        (["{file}", "--default-preference-kind", "a"], 2, "requires --default-preference"),
        (["{file}", "--namespace", "nowhere"], 1, 'namespaces "nowhere" not found'),
    ],
    ids=[
        "missing file",
        "unreachable URL",
        "image larger than the claim",
        "invalid size",
        "checksum of a local file",
        "kind without a name",
        "missing namespace",
    ],
)
def test_failed_image_add_deletes_the_objects_it_created(
    running: System, tmp_path: Path, arguments: list[str], status: int, message: str
) -> None:
    (tmp_path / "disk").write_bytes(CONTENT)
    outcome = call(running, "add", "golden", *(word.format(file=tmp_path / "disk") for word in arguments))
    assert (outcome.returncode, message in outcome.stderr) == (status, True), outcome.stderr
    assert list_images(running) == []
    wait_until_removed(running)


def test_image_command_requires_a_running_server(tmp_path: Path) -> None:
    (tmp_path / "disk").write_bytes(CONTENT)
    outcome = call_virtshape("image", "add", "golden", tmp_path / "disk", "--data-dir", tmp_path / "data")
    assert outcome.returncode == 1
    assert "Start it first: virtshape up" in outcome.stderr


def test_import_is_resumed_after_the_server_was_killed(tmp_path: Path) -> None:
    asked: list[str | None] = []
    gate = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers.get("Range"))
            start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
            self.send_response(206 if start else 200)
            self.send_header("ETag", f'"{hashlib.sha256(CONTENT).hexdigest()}"')
            self.send_header("Content-Length", str(len(CONTENT) - start))
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
            self.end_headers()
            half = start + (len(CONTENT) - start) // 2
            self.wfile.write(CONTENT[start:half])
            self.wfile.flush()
            gate.wait(TIMEOUT)
            self.wfile.write(CONTENT[half:])

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class has it
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/disk"
    volume = {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {"name": "dv1"},
        "spec": {
            "source": {"http": {"url": url, "checksum": f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"}},
            "storage": {"resources": {"requests": {"storage": "8Mi"}}},
        },
    }

    def status(system: System) -> dict[str, Any]:
        found: dict[str, Any] = get(system, f"{VOLUMES}/dv1").get("status", {})
        return found

    def has_begun(system: System) -> bool:
        progress: str = status(system).get("progress", "")
        return progress.endswith("%") and float(progress.removesuffix("%")) > 0

    with System(allow_loopback(tmp_path / "data"), "--launcher", "none") as system:
        code, answer = system.request("POST", VOLUMES, volume)
        assert code == 201, answer
        wait_until(lambda: has_begun(system), "the import has not begun")
        system.process.kill()
        system.process.wait()
    assert not list((tmp_path / "data" / "volumes").glob("*/*"))
    gate.set()
    with System(tmp_path / "data", "--launcher", "none") as system:
        wait_until(lambda: status(system).get("phase") == "Succeeded", "the import was not resumed")
        assert status(system)["progress"] == "100.0%"
        (disk,) = (tmp_path / "data" / "volumes").glob("*/disk.img")
        assert disk.read_bytes() == CONTENT.ljust(8 * MIB, b"\0")
        assert asked[0] is None
        assert (asked[-1] or "").startswith("bytes=")
    server.shutdown()
    server.server_close()

"""Attacks through imports by a user with the role edit: forbidden addresses and size limits."""

import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.tenants import Tenant, read_message
from tests.e2e.uploads import build_volume
from tests.support.containers import build_layer, build_layout, write_tree
from tests.support.upprocess import System, wait_until
from tests.support.webserver import Request, Response, serve, serve_file

from virtshape.api.model import JsonObject

MIB = 1 << 20
SECRET = b"secret" * 1000
REFUSED = "is not a public address: an administrator can allow its network with imports.allowedNetworks"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with System(tmp_path_factory.mktemp("imports") / "data", "--launcher", "none") as running:
        yield running
    log = running.log.read_text()
    assert "Traceback" not in log, log


@pytest.fixture(scope="module")
def dev(system: System) -> Tenant:
    return Tenant(system, "dev")


@pytest.fixture
def configure(system: System) -> Iterator[Any]:
    """A function that writes the server's configuration file; the file is removed after the test."""
    path = system.directory / "config.yaml"
    yield lambda **settings: path.write_text(json.dumps(settings))
    path.unlink(missing_ok=True)


def import_from(name: str, source: JsonObject, size: str | None = "8Mi") -> JsonObject:
    return build_volume(name, size, source=source)


def wait_for_failure(dev: Tenant, name: str) -> str:
    """Wait until the import has failed once, and return the message of the DataVolume."""

    def probe() -> str:
        volume = dev.get(f"{dev.volumes}/{name}")
        status = volume.get("status", {})
        return read_message(volume) if status.get("restartCount") or status.get("phase") == "Failed" else ""

    message = wait_until(probe, lambda: json.dumps(dev.get(f"{dev.volumes}/{name}")))
    assert dev.request("DELETE", f"{dev.volumes}/{name}")[0] == 200
    return message


HOSTS = {
    "dotted": "127.0.0.1",
    "short": "127.1",
    "decimal": "2130706433",
    "hexadecimal": "0x7f000001",
    "octal": "0177.0.0.1",
    "zero": "0",
    "unspecified": "0.0.0.0",  # noqa: S104 - binds nothing
    "name": "localhost",
    "mapped": "[::ffff:127.0.0.1]",
    "mapped-hexadecimal": "[::ffff:7f00:1]",
}


@pytest.mark.parametrize(("name", "host"), HOSTS.items(), ids=HOSTS)
def test_import_from_the_loopback_address_is_refused(dev: Tenant, name: str, host: str) -> None:
    with serve(serve_file(SECRET)) as server:
        port = server.address.rpartition(":")[2]
        dev.create(import_from(name, {"http": {"url": f"http://{host}:{port}/disk"}}))
        assert REFUSED in wait_for_failure(dev, name)
        assert server.requests == []


def test_registry_on_the_loopback_address_is_not_contacted(dev: Tenant) -> None:
    with serve(serve_file(SECRET)) as server:
        dev.create(import_from("registry", {"registry": {"url": f"docker://{server.address}/team/disk:v1"}}))
        assert REFUSED in wait_for_failure(dev, "registry")
        assert server.requests == []


def test_allowed_server_cannot_redirect_to_a_forbidden_one(dev: Tenant, configure: Any) -> None:
    configure(imports={"allowedNetworks": ["127.0.0.1/32"]})

    def respond(request: Request) -> Response:
        if request.path == "/disk":
            return Response(status=302, Location=f"http://127.0.0.2:{server.address.rpartition(':')[2]}/secret")
        return Response(SECRET)

    with serve(respond) as server:
        dev.create(import_from("redirected", {"http": {"url": f"{server.url}/disk"}}))
        assert REFUSED in wait_for_failure(dev, "redirected")
        assert {one.path for one in server.requests} == {"/disk"}
        dev.create(import_from("direct", {"http": {"url": f"{server.url}/other"}}))
        dev.wait_for_phase("direct", "Succeeded")


def test_allowed_registry_cannot_use_a_forbidden_token_server(dev: Tenant, configure: Any) -> None:
    configure(imports={"allowedNetworks": ["127.0.0.1/32"]})

    def respond(_: Request) -> Response:
        realm = f"http://127.0.0.2:{server.address.rpartition(':')[2]}/token"
        return Response(status=401, WWW_Authenticate=f'Bearer realm="{realm}",service="x"')

    with serve(respond) as server:
        dev.create(import_from("token", {"registry": {"url": f"docker://{server.address}/team/disk:v1"}}))
        assert REFUSED in wait_for_failure(dev, "token")
        assert not [one for one in server.requests if one.path.startswith("/token")]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
def test_import_without_a_size_is_limited_to_the_maximum_image_size(
    dev: Tenant, configure: Any, pack: Any, request: pytest.FixtureRequest
) -> None:
    configure(imports={"allowedNetworks": ["127.0.0.0/8"]}, storage={"maxImageSize": "16Mi"})
    name = f"unsized-{request.node.callspec.id}"
    with serve(serve_file(pack(bytes(32 * MIB)))) as server:
        dev.create(import_from(name, {"http": {"url": f"{server.url}/disk"}}, size=None))
        assert "16777216 bytes that are allowed" in wait_for_failure(dev, name)


def test_virtual_size_of_an_import_without_a_size_is_limited_to_the_maximum_image_size(
    dev: Tenant, configure: Any, tmp_path: Path
) -> None:
    configure(imports={"allowedNetworks": ["127.0.0.0/8"]}, storage={"maxImageSize": "16Mi"})
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", tmp_path / "disk", "1T"], check=True)  # noqa: S607 - as users do
    with serve(serve_file((tmp_path / "disk").read_bytes())) as server:
        dev.create(import_from("virtual", {"http": {"url": f"{server.url}/disk"}}, size=None))
        assert "at most 16777216 are allowed" in wait_for_failure(dev, "virtual")


def test_import_that_would_use_the_reserved_disk_space_is_refused(dev: Tenant, system: System, configure: Any) -> None:
    free = shutil.disk_usage(system.directory).free
    configure(imports={"allowedNetworks": ["127.0.0.0/8"]}, storage={"reserve": str(free + (1 << 40))})
    with serve(serve_file(SECRET)) as server:
        dev.create(import_from("reserved", {"http": {"url": f"{server.url}/disk"}}))
        assert "are reserved for the database (storage.reserve in config.yaml)" in wait_for_failure(dev, "reserved")
    dev.create(build_volume("upload"))
    dev.wait_for_phase("upload", "UploadReady", "UploadScheduled")
    answer = dev.upload("upload", SECRET)
    assert (answer.code, "the disk is full" in answer.text) == (503, True), answer
    configured = {"metadata": {"name": "still-writable"}}
    assert dev.request("POST", "/api/v1/namespaces/dev/configmaps", configured)[0] == 201
    wait_until(lambda: not list((system.directory / "uploads").glob("*")), "the upload directory is not empty")


def test_unused_images_are_removed_from_the_cache(dev: Tenant, system: System, configure: Any, tmp_path: Path) -> None:
    names = ("first", "second")
    images = {
        name: str(
            write_tree(tmp_path / name, build_layout({"": [build_layer({"disk/disk.img": name.encode() * MIB})]}))
        )
        for name in names
    }
    configure(images=images, storage={"imageCacheSize": "8Mi"})
    cached = system.directory / "images" / "disks"
    found: list[set[Path]] = []
    for name in names:
        dev.create(import_from(f"cached-{name}", {"registry": {"url": f"docker://{name}"}}))
        dev.wait_for_phase(f"cached-{name}", "Succeeded")
        found.append(set(cached.iterdir()))
        for home in found[-1]:
            os.utime(home, (0, 0))  # the image was last used a long time ago
    assert len(found[0]) == len(found[1]) == 1
    assert not found[0] & found[1]

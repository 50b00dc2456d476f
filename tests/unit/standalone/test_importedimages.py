"""Reading the defaults of container images while a request waits."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.support.build import build_source
from tests.support.containers import build_config, build_layer, serve_image
from tests.support.webserver import Request, Respond, Response, Server, serve

from virtshape.api.cdi import DataVolume
from virtshape.api.status import StatusError
from virtshape.resolve.imagedefaults import ImageDefaults, report_unreadable
from virtshape.standalone import importedimages
from virtshape.standalone.importedimages import MAX_AT_ONCE, ImportedImages

RESPOND = serve_image([build_layer({})], build_config("INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE=linux"))
LINUX = ImageDefaults({"instancetype.kubevirt.io/default-preference": "linux"})


class EmptyClusterClient:
    """A client of an empty cluster."""

    async def get(self, *_: Any) -> Any:
        raise StatusError(404, "NotFound", "not found")


def open_images(tmp_path: Path) -> ImportedImages:
    (tmp_path / "config.yaml").write_text("imports: {allowedNetworks: [127.0.0.0/8]}\n")
    client: Any = EmptyClusterClient()
    return ImportedImages(tmp_path, lambda: client)


def import_from(server: Server, **source: str) -> DataVolume:
    url = f"docker://{server.address}/team/disk:v1"
    volume = build_source("DataVolume", "dv", source={"registry": {"url": url, **source}})
    assert isinstance(volume, DataVolume)
    return volume


def hold_until(release: threading.Event, respond: Respond = RESPOND) -> Respond:
    def wait(request: Request) -> Response:
        release.wait(240)
        return respond(request)

    return wait


async def test_read_of_image_defaults_fails_if_the_registry_responds_too_slowly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importedimages, "TIMEOUT_SECONDS", 0.3)
    release = threading.Event()
    with serve(hold_until(release)) as server:
        found = await open_images(tmp_path).read(import_from(server))
        release.set()
    assert found == report_unreadable(f"docker://{server.address}/team/disk:v1 did not respond within 0.3 s")


async def test_number_of_concurrent_reads_of_image_defaults_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importedimages, "TIMEOUT_SECONDS", 240.0)
    release, images = threading.Event(), open_images(tmp_path)
    with serve(hold_until(release)) as server:
        reads = [asyncio.create_task(images.read(import_from(server))) for _ in range(MAX_AT_ONCE + 2)]
        while len(server.requests) < MAX_AT_ONCE:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        assert len(server.requests) == MAX_AT_ONCE
        release.set()
        assert await asyncio.gather(*reads) == [LINUX] * len(reads)


async def test_missing_secret_of_an_imported_image_is_reported(tmp_path: Path) -> None:
    with serve(RESPOND) as server:
        found = await open_images(tmp_path).read(import_from(server, secretRef="login"))
        assert found == report_unreadable("Secret default/login not found")
        assert server.requests == []

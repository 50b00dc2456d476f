"""A registry on loopback: authentication by token or password, and verification of digests."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.support.containers import (
    build_config,
    build_index,
    build_layer,
    build_manifest,
    digest,
    pack,
    serve_image,
)
from tests.support.webserver import Request, Respond, Response, Server, serve

from virtshape.launcher.images import download as downloading
from virtshape.launcher.images import registry
from virtshape.launcher.images.containerdisk import ContainerImages
from virtshape.launcher.images.errors import ImageError, RefusedImageError, StoppedError, TransferError
from virtshape.launcher.images.imageconfig import ImageConfig
from virtshape.launcher.images.web import Access

DISK = b"a disk".ljust(4096, b"\0")
LAYER = pack(build_layer({"disk/one.img": DISK}))
MANIFEST, BLOBS = build_manifest([LAYER])
INDEX = build_index({"amd64": MANIFEST, "arm64": b"{}"})
ME = Access(user="me", password="word")  # noqa: S106 - of a test


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloading, "FIRST_PAUSE", 0.001)


def serve_repository(**manifests: bytes) -> Respond:
    """Return a handler that responds as a registry with the public repository `team/disk`."""
    known = {**manifests, **{digest(content): content for content in [*manifests.values(), MANIFEST]}}

    def respond(request: Request) -> Response:
        kind, _, version = request.path.removeprefix("/v2/team/disk/").partition("/")
        content = (known if kind == "manifests" else BLOBS).get(version)
        return Response(status=404) if content is None else Response(content, ETag=f'"{version}"')

    return respond


def fetch(server: Server, tmp_path: Path, version: str = ":v1", **options: Any) -> bytes:
    image = f"{server.address}/team/disk{version}"
    images = ContainerImages(tmp_path / "cache", networks=("127.0.0.0/8",))
    return Path(images.fetch_disk(image, **options).path).read_bytes()


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        pytest.param(MANIFEST, ":v1", id="manifest by tag"),
        pytest.param(INDEX, ":v1", id="index by tag"),
        pytest.param(MANIFEST, f"@{digest(MANIFEST)}", id="manifest by digest"),
        pytest.param(INDEX, f":v1@{digest(INDEX)}", id="index by digest"),
    ],
)
def test_container_disk_is_pulled_by_tag_or_digest(tmp_path: Path, tag: bytes, version: str) -> None:
    with serve(serve_repository(v1=tag)) as server:
        assert fetch(server, tmp_path, version) == DISK
    assert list((tmp_path / "cache" / "layers").iterdir()) == []


def test_cached_image_is_pulled_again_only_if_the_pull_policy_requires_it(tmp_path: Path) -> None:
    with serve(serve_repository(v1=MANIFEST, latest=MANIFEST)) as server:
        fetch(server, tmp_path)
        asked = len(server.requests)
        assert fetch(server, tmp_path) == fetch(server, tmp_path, policy="Never") == DISK
        assert len(server.requests) == asked
        assert fetch(server, tmp_path, policy="Always") == fetch(server, tmp_path, "") == DISK
        assert [request.path.rpartition("/")[2] for request in server.requests[asked:]] == ["v1", "latest"]


def test_cached_image_configuration_is_used_unless_the_pull_policy_is_always(tmp_path: Path) -> None:
    images = ContainerImages(tmp_path / "cache", networks=("127.0.0.0/8",))
    current = serve_image([LAYER], build_config("A=1", b="2"))

    with serve(lambda request: current(request)) as server:
        image = f"{server.address}/team/disk:v1"
        images.fetch_disk(image)
        known = images.fetch_config(image)
        assert known == ImageConfig(["A=1"], {"b": "2"})
        current = serve_image([LAYER], build_config("A=2"))
        asked = len(server.requests)
        assert images.fetch_config(image) == known
        assert len(server.requests) == asked
        assert images.fetch_config(image, policy="Always") == ImageConfig(["A=2"])


def test_cached_configuration_of_a_private_image_requires_credentials(tmp_path: Path) -> None:
    with serve(demand_password(serve_repository(v1=MANIFEST))) as server:
        images = ContainerImages(tmp_path / "cache", networks=("127.0.0.0/8",))
        image = f"{server.address}/team/disk:v1"
        images.fetch_disk(image, access=ME)
        assert images.fetch_config(image, access=ME) == ImageConfig()
        with pytest.raises(TransferError, match="was denied with no credentials"):
            images.fetch_config(image)


def test_configuration_with_the_wrong_digest_is_refused(tmp_path: Path) -> None:
    respond = serve_image([LAYER], build_config("A=1"))
    images = ContainerImages(tmp_path / "cache", networks=("127.0.0.0/8",))
    with (
        serve(lambda request: Response(b"{}") if "/blobs/" in request.path else respond(request)) as server,
        pytest.raises(RefusedImageError, match="wrong digest"),
    ):
        images.fetch_config(f"{server.address}/team/disk:v1")


def demand_token(inner: Respond, *, wanted: str) -> Respond:
    """Return a handler that responds as a registry whose token server requires a user name and password."""

    def respond(request: Request) -> Response:
        if request.path.startswith("/token"):
            asked = parse_qs(urlsplit(request.path).query)
            fits = request.headers.get("Authorization") == wanted and asked["scope"] == ["repository:team/disk:pull"]
            return Response(json.dumps({"token": "t0ken"}).encode()) if fits else Response(status=401)
        if request.headers.get("Authorization") != "Bearer t0ken":
            challenge = f'Bearer realm="http://{request.headers["Host"]}/token",service="registry"'
            return Response(status=401, WWW_Authenticate=challenge)
        return inner(request)

    return respond


def demand_password(inner: Respond) -> Respond:
    def respond(request: Request) -> Response:
        if request.headers.get("Authorization") != "Basic bWU6d29yZA==":
            return Response(status=401, WWW_Authenticate='Basic realm="registry"')
        return inner(request)

    return respond


@pytest.mark.parametrize(
    ("demand", "access"),
    [
        pytest.param(lambda inner: demand_token(inner, wanted="Basic bWU6d29yZA=="), ME, id="token for credentials"),
        pytest.param(demand_password, ME, id="password"),
    ],
)
def test_private_image_is_pulled_only_with_credentials(
    tmp_path: Path, demand: Callable[[Respond], Respond], access: Access
) -> None:
    with serve(demand(serve_repository(v1=MANIFEST))) as server:
        assert fetch(server, tmp_path, access=access) == DISK
        with pytest.raises(TransferError, match="was denied with no credentials"):
            fetch(server, tmp_path, policy="Always")
        with pytest.raises(TransferError, match="was denied with the given credentials"):
            fetch(server, tmp_path, policy="Always", access=ME._replace(password="wrong"))  # noqa: S106 - of a test


@pytest.mark.parametrize("demand", [demand_password, lambda inner: demand_token(inner, wanted="Basic bWU6d29yZA==")])
def test_cached_private_image_requires_credentials(tmp_path: Path, demand: Callable[[Respond], Respond]) -> None:
    with serve(demand(serve_repository(v1=MANIFEST))) as server:
        assert fetch(server, tmp_path, access=ME) == DISK
        asked = len(server.requests)
        assert fetch(server, tmp_path, access=ME, policy="IfNotPresent") == DISK
        assert len(server.requests) == asked
        for access in (Access(), ME._replace(password="wrong")):  # noqa: S106 - of a test
            with pytest.raises(TransferError, match="was denied with"):
                fetch(server, tmp_path, access=access, policy="IfNotPresent")
            with pytest.raises(TransferError, match="was pulled with other credentials"):
                fetch(server, tmp_path, access=access, policy="Never")
    (note,) = (tmp_path / "cache" / "names").iterdir()
    assert note.stat().st_mode & 0o777 == 0o600
    assert ME.password not in note.read_text()


def test_cached_image_that_became_public_needs_no_credentials(tmp_path: Path) -> None:
    is_public = False

    def respond(request: Request) -> Response:
        return (serve_repository(v1=MANIFEST) if is_public else demand_password(serve_repository(v1=MANIFEST)))(request)

    with serve(respond) as server:
        fetch(server, tmp_path, access=ME)
        is_public = True
        assert fetch(server, tmp_path) == DISK
        asked = len(server.requests)
        assert fetch(server, tmp_path, policy="Never") == DISK
        assert [request.path for request in server.requests[asked - 1 :]] == ["/v2/team/disk/manifests/v1"]


def test_pull_fails_if_the_registry_sends_a_manifest_too_slowly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "MANIFEST_SECONDS", 0.5)
    ended = threading.Event()

    def trickle(listening: socket.socket) -> None:
        connection = listening.accept()[0]
        with contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while not ended.wait(0.05):
                connection.sendall(b" ")
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        sender = threading.Thread(target=trickle, args=[listening])
        sender.start()
        images = ContainerImages(tmp_path / "cache", networks=("127.0.0.0/8",))
        try:
            with pytest.raises(TransferError, match=r"did not send its response within 0\.5 s"):
                images.fetch_disk(f"127.0.0.1:{listening.getsockname()[1]}/team/disk:v1")
        finally:
            ended.set()
            sender.join()


def test_pull_can_be_cancelled_while_a_manifest_is_read(tmp_path: Path) -> None:
    def stop(_done: int, _total: int | None) -> None:
        raise StoppedError("stopped on request")

    with serve(serve_repository(v1=MANIFEST)) as server, pytest.raises(StoppedError):
        fetch(server, tmp_path, progress=stop)


def test_pulled_disk_larger_than_the_requested_limit_is_refused(tmp_path: Path) -> None:
    with serve(serve_repository(v1=MANIFEST)) as server:
        with pytest.raises(RefusedImageError, match="1000 bytes"):
            fetch(server, tmp_path, limit=1000)
        assert fetch(server, tmp_path, limit=4096) == DISK


def test_expired_registry_token_is_renewed(tmp_path: Path) -> None:
    demanding = demand_token(serve_repository(v1=MANIFEST), wanted="Basic bWU6d29yZA==")
    blobs = 0

    def respond(request: Request) -> Response:
        nonlocal blobs
        blobs += "/blobs/" in request.path
        if "/blobs/" in request.path and blobs == 1:
            request.headers.pop("Authorization")
        return demanding(request)

    with serve(respond) as server:
        assert fetch(server, tmp_path, access=ME) == DISK
    assert blobs == 2


def replace_blob(blob: bytes) -> Respond:
    inner = serve_repository(v1=MANIFEST)
    return lambda request: Response(blob) if "/blobs/" in request.path else inner(request)


REFUSED: dict[str, tuple[Respond, str, type[ImageError], str]] = {
    "unknown image": (serve_repository(), ":v1", TransferError, "not found"),
    "manifest of another digest": (
        lambda _: Response(MANIFEST),
        f"@{digest(b'other')}",
        RefusedImageError,
        "wrong digest",
    ),
    "layer of another digest": (replace_blob(LAYER[::-1]), ":v1", RefusedImageError, "the file's checksum is"),
    "layer longer than its size": (replace_blob(LAYER + b"x"), ":v1", RefusedImageError, "more than the"),
    "not a manifest": (serve_repository(v1=b"[]"), ":v1", RefusedImageError, "manifest cannot be read"),
    "manifest of an old kind": (
        serve_repository(v1=b'{"schemaVersion": 1}'),
        ":v1",
        RefusedImageError,
        "it has no layers",
    ),
    "digest with a path traversal": (
        serve_repository(v1=b'{"layers": [{"digest": "../../../etc/passwd"}]}'),
        ":v1",
        RefusedImageError,
        "not a sha256 digest",
    ),
    "index that contains itself": (lambda _: Response(INDEX), ":v1", RefusedImageError, "wrong digest"),
    "manifest without an end": (
        lambda _: Response(b" " * (5 << 20)),
        ":v1",
        RefusedImageError,
        "more than 4194304 bytes",
    ),
}


@pytest.mark.parametrize(("respond", "version", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_invalid_registry_response_is_refused(
    tmp_path: Path, respond: Respond, version: str, kind: type[ImageError], message: str
) -> None:
    with serve(respond) as server, pytest.raises(kind, match=message):
        fetch(server, tmp_path, version)
    assert list(tmp_path.rglob("*.disk")) == []

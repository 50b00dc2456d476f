"""Downloads from an HTTP server on loopback: verification, resumption and retries."""

import hashlib
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.support.webserver import Request, Response, respond_in_turn, serve, serve_file

from virtshape.launcher.images import download as downloading
from virtshape.launcher.images.download import download as download_from
from virtshape.launcher.images.errors import RefusedImageError, StoppedError, TransferError
from virtshape.launcher.images.progress import until
from virtshape.launcher.images.web import Access

LOOPBACK = ("127.0.0.0/8",)
CONTENT = bytes(range(256)) * 4096
SHA256 = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


def download(url: str, target: Path, *, access: Access = Access(), **options: Any) -> None:  # noqa: B008 - immutable
    """Download a file from the loopback address, which must be allowed explicitly."""
    download_from(url, target, access=access._replace(networks=LOOPBACK), **options)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloading, "FIRST_PAUSE", 0.001)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "images" / "disk.img"


def list_files(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir())


def test_file_is_downloaded_and_temporary_files_are_removed(target: Path) -> None:
    progress_calls: list[tuple[int, int | None]] = []
    with serve(serve_file(CONTENT)) as server:
        download(
            f"{server.url}/disk", target, checksum=SHA256, progress=lambda *how_far: progress_calls.append(how_far)
        )
    assert target.read_bytes() == CONTENT
    assert list_files(target) == ["disk.img"]
    assert progress_calls[0] == (0, len(CONTENT))
    assert progress_calls[-1] == (len(CONTENT), len(CONTENT))
    assert progress_calls == sorted(progress_calls)


def test_download_from_a_too_slow_server_fails(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloading, "SLOW_SECONDS", 0.2)
    monkeypatch.setattr(downloading, "SLOWEST", 1 << 40)
    pause = Event()
    with serve(serve_file(CONTENT)) as server:
        with pytest.raises(TransferError, match="the server sends too slowly"):
            download(f"{server.url}/disk", target, progress=lambda *_: pause.wait(0.1) and None)
        assert len(server.requests) == 1, "the download must not be retried"


def test_interrupted_download_is_resumed(target: Path) -> None:
    broken = Response(CONTENT, breaks_after=300_000, ETag='"v1"')
    with serve(respond_in_turn(broken, serve_file(CONTENT))) as server:
        download(f"{server.url}/disk", target, checksum=SHA256)
    assert target.read_bytes() == CONTENT
    assert server.list_headers("Range") == [None, "bytes=300000-"]


def test_later_download_resumes_a_cancelled_one(target: Path) -> None:
    stop = Event()

    def stop_midway(done: int, _total: int | None) -> None:
        if done > 200_000:
            stop.set()

    with serve(serve_file(CONTENT)) as server:
        with pytest.raises(StoppedError):
            download(f"{server.url}/disk", target, progress=until(stop, stop_midway))
        assert not target.exists()
        download(f"{server.url}/disk", target)
    assert target.read_bytes() == CONTENT
    assert server.list_headers("If-Range") == [None, '"v1"']


def test_file_changed_on_the_server_is_downloaded_from_the_start(target: Path) -> None:
    other = CONTENT[::-1]
    with serve(respond_in_turn(Response(CONTENT, breaks_after=1000, ETag='"v1"'), serve_file(other, '"v2"'))) as server:
        download(f"{server.url}/disk", target)
    assert target.read_bytes() == other


def test_download_without_an_etag_is_restarted(target: Path) -> None:
    with serve(respond_in_turn(Response(CONTENT, breaks_after=1000), Response(CONTENT))) as server:
        download(f"{server.url}/disk", target)
    assert target.read_bytes() == CONTENT
    assert server.list_headers("Range") == [None, None]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_request_to_a_busy_server_is_retried(target: Path, status: int) -> None:
    with serve(respond_in_turn(Response(status=status), Response(status=status), serve_file(CONTENT))) as server:
        download(f"{server.url}/disk", target)
    assert target.read_bytes() == CONTENT
    assert len(server.requests) == 3


def test_retries_stop_if_the_server_stays_busy(target: Path) -> None:
    with (
        serve(respond_in_turn(Response(status=503))) as server,
        pytest.raises(TransferError, match="returned status 503") as caught,
    ):
        download(f"{server.url}/disk?token=secret", target)
    assert len(server.requests) == downloading.ATTEMPTS
    assert "secret" not in str(caught.value)
    assert list_files(target) == []


@pytest.mark.parametrize("status", [401, 403, 404])
def test_download_is_not_retried_after_a_client_error(target: Path, status: int) -> None:
    with serve(respond_in_turn(Response(status=status))) as server, pytest.raises(TransferError, match=str(status)):
        download(f"{server.url}/disk", target)
    assert len(server.requests) == 1


def test_file_with_a_wrong_checksum_is_removed(target: Path) -> None:
    with serve(serve_file(CONTENT)) as server, pytest.raises(RefusedImageError, match="the file's checksum is"):
        download(f"{server.url}/disk", target, checksum=f"sha256:{'0' * 64}")
    assert list_files(target) == []


@pytest.mark.parametrize("checksum", ["sha256", "sha256:abc", "crc32:00000000", "abc"])
def test_invalid_checksum_is_refused_without_a_request(target: Path, checksum: str) -> None:
    with serve(serve_file(CONTENT)) as server, pytest.raises(RefusedImageError, match="invalid checksum"):
        download(f"{server.url}/disk", target, checksum=checksum)
    assert server.requests == []


def test_file_is_refused_if_its_content_length_exceeds_the_limit(target: Path) -> None:
    with serve(serve_file(CONTENT)) as server, pytest.raises(RefusedImageError, match="more than the 1000 bytes"):
        download(f"{server.url}/disk", target, limit=1000)
    assert list_files(target) == []


def test_credentials_are_not_sent_to_another_server_after_a_redirect(target: Path) -> None:
    access = Access(headers=(("X-Token", "secret"),), user="me", password="word")  # noqa: S106 - of a test
    with serve(serve_file(CONTENT)) as elsewhere:
        redirect = Response(status=302, Location=f"{elsewhere.url}/disk")
        with serve(respond_in_turn(redirect)) as server:
            download(f"{server.url}/disk", target, access=access)
    assert server.list_headers("Authorization") == ["Basic bWU6d29yZA=="]
    assert server.list_headers("X-Token") == ["secret"]
    assert elsewhere.list_headers("Authorization") == elsewhere.list_headers("X-Token") == [None]


def test_credentials_are_sent_again_after_a_redirect_on_the_same_server(target: Path) -> None:
    def respond(request: Request) -> Response:
        return Response(CONTENT) if request.path == "/there" else Response(status=302, Location="/there")

    with serve(respond) as server:
        download(f"{server.url}/disk", target, access=Access(user="me"))
    assert server.list_headers("Authorization") == ["Basic bWU6"] * 2


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/disk", "/etc/passwd", "data:,x"])
def test_download_accepts_only_http_and_https_urls(target: Path, url: str) -> None:
    with pytest.raises(TransferError, match="must start with http:// or https://"):
        download(url, target)


def test_redirect_to_another_scheme_is_refused(target: Path) -> None:
    redirect = Response(status=302, Location="ftp://127.0.0.1/disk")
    with serve(respond_in_turn(redirect)) as server, pytest.raises(TransferError):
        download(f"{server.url}/disk", target)


def test_concurrent_download_of_the_same_file_is_refused(target: Path) -> None:
    with serve(serve_file(CONTENT)) as server:

        def fetch_again(_done: int, _total: int | None) -> None:
            download(f"{server.url}/disk", target)

        with pytest.raises(TransferError, match="is already being downloaded"):
            download(f"{server.url}/disk", target, progress=fetch_again)

import gzip
from pathlib import Path

import pytest

from virtshape.apiserver.message import Request, Response
from virtshape.web.files import ConsoleFiles, accepts_gzip

PAGE = b"<!doctype html><title>console</title>" + b" " * 200
SCRIPT = b"console.log('a');" * 100


@pytest.fixture
def files(tmp_path: Path) -> ConsoleFiles:
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_bytes(PAGE)
    (static / "assets" / "main-1a2b.js").write_bytes(SCRIPT)
    (static / "assets" / "font-3c4d.woff2").write_bytes(b"wOF2" * 100)
    (tmp_path / "secret").write_text("secret")
    (static / "link").symlink_to(tmp_path / "missing")
    return ConsoleFiles(static)


def answer(files: ConsoleFiles, name: str, **headers: str) -> Response:
    found = files.answer(Request("GET", f"/console/{name}", headers), name)
    assert found is not None
    return found


def test_content_type_of_a_console_file_depends_on_its_extension(files: ConsoleFiles) -> None:
    for name, content_type in {
        "index.html": "text/html; charset=utf-8",
        "assets/main-1a2b.js": "text/javascript; charset=utf-8",
        "assets/font-3c4d.woff2": "font/woff2",
    }.items():
        assert answer(files, name).content_type == content_type


@pytest.mark.parametrize("name", ["", "vms", "vms/default/web", "catalog/u1.medium", "index.html"])
def test_url_of_a_view_returns_the_index_page(files: ConsoleFiles, name: str) -> None:
    response = answer(files, name)
    assert (response.status, response.body) == (200, PAGE)
    assert dict(response.headers)["cache-control"] == "no-cache"


def test_missing_asset_does_not_return_the_index_page(files: ConsoleFiles) -> None:
    assert files.answer(Request("GET", "/", {}), "assets/main-0000.js") is None


@pytest.mark.parametrize("name", ["../secret", "assets/../../secret", "/etc/passwd", "assets/\0", "..", "link"])
def test_path_traversal_cannot_read_files_outside_the_asset_directory(files: ConsoleFiles, name: str) -> None:
    found = files.answer(Request("GET", "/", {}), name)
    assert found is None or found.body == PAGE


def test_web_console_assets_are_cached_as_immutable(files: ConsoleFiles) -> None:
    headers = dict(answer(files, "assets/main-1a2b.js").headers)
    assert headers["cache-control"] == "public, max-age=31536000, immutable"


def test_text_file_is_compressed_if_the_client_accepts_it(files: ConsoleFiles) -> None:
    plain = answer(files, "assets/main-1a2b.js")
    packed = answer(files, "assets/main-1a2b.js", **{"accept-encoding": "br, gzip"})
    assert (plain.body, gzip.decompress(packed.body)) == (SCRIPT, SCRIPT)
    assert ("content-encoding", "gzip") in packed.headers
    assert ("vary", "Accept-Encoding") in plain.headers
    font = answer(files, "assets/font-3c4d.woff2", **{"accept-encoding": "gzip"})
    assert "content-encoding" not in dict(font.headers)


def test_matching_etag_returns_304(files: ConsoleFiles) -> None:
    etag = dict(answer(files, "index.html").headers)["etag"]
    for offered in (etag, f'"other", {etag}', etag.removeprefix("W/"), "*"):
        again = answer(files, "index.html", **{"if-none-match": offered})
        assert (again.status, again.body) == (304, b"")
    assert answer(files, "index.html", **{"if-none-match": '"other"'}).status == 200


def test_installation_without_web_console_files_serves_no_page(tmp_path: Path) -> None:
    assert ConsoleFiles(tmp_path / "absent").answer(Request("GET", "/", {}), "") is None


@pytest.mark.parametrize(
    ("header", "expected"),
    [("gzip", True), ("br, GZIP;q=0.5", True), ("gzip;q=0", False), ("gzip; q=0.0", False), ("", False), ("x", False)],
)
def test_accept_encoding_is_parsed_with_its_weights(header: str, expected: bool) -> None:
    assert accepts_gzip(header) is expected

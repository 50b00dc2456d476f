"""Extraction of the file from a multipart form that is received in chunks of any size."""

import time
from collections.abc import Iterator

import pytest

from virtshape.apiserver.uploads.multipart import MAX_HEAD_BYTES, FormError, read_file

TYPE = "multipart/form-data; boundary=XyZ"
FILE = bytes(range(256)) * 40 + b"\r\n--Xy\r\n--XyZnot\r\n"[:9] + b"\r\n--X"


def build_form(*fields: tuple[bytes, bytes], preamble: bytes = b"", end: bytes = b"\r\n--XyZ--\r\n") -> bytes:
    parts = [
        b'\r\n--XyZ\r\nContent-Disposition: form-data; name="%b"; filename="a"\r\nContent-Type: x/y\r\n\r\n%b' % field
        for field in fields
    ]
    return preamble + b"".join(parts).removeprefix(b"" if preamble else b"\r\n") + end


async def take(body: bytes, size: int, content_type: str = TYPE) -> bytes:
    pieces: Iterator[bytes] = (body[at : at + size] for at in range(0, len(body), size))

    async def read() -> bytes:
        return next(pieces, b"")

    return b"".join([piece async for piece in read_file(read, content_type)])


@pytest.mark.parametrize("size", [1, 2, 7, 1000, 1 << 20])
@pytest.mark.parametrize(
    "form",
    [
        build_form((b"file", FILE)),
        build_form((b"token", b"x"), (b"file", FILE), (b"more", b"y" * 500)),
        build_form((b"file", FILE), preamble=b"for old mail programs"),
    ],
    ids=["alone", "among others", "after a preamble"],
)
async def test_file_is_extracted_from_a_multipart_form(form: bytes, size: int) -> None:
    assert await take(form, size) == FILE


@pytest.mark.parametrize("content_type", [TYPE, 'multipart/form-data; charset=utf-8; boundary="XyZ"'])
async def test_multipart_boundary_may_be_quoted(content_type: str) -> None:
    assert await take(build_form((b"file", b"x")), 5, content_type) == b"x"


async def test_multipart_file_may_be_empty() -> None:
    assert await take(build_form((b"file", b"")), 3) == b""


REFUSED = {
    "not a form": (b"abc", "application/octet-stream", "must be multipart/form-data"),
    "no file": (build_form((b"other", b"x")), TYPE, 'no field "file"'),
    "truncated in the file": (build_form((b"file", FILE))[:-40], TYPE, "is incomplete"),
    "truncated in a header": (build_form((b"file", FILE))[:30], TYPE, "is incomplete"),
    "long boundary": (b"", f"multipart/form-data; boundary={'x' * 71}", "at most 70 characters"),
    "without the closing boundary": (build_form((b"file", FILE), end=b"\r\n--XyZ"), TYPE, "is incomplete"),
    "empty body": (b"", TYPE, "is incomplete"),
    "header without an end": (b"--XyZ\r\n" + b"a" * (MAX_HEAD_BYTES + 2000), TYPE, "too large"),
}


@pytest.mark.parametrize(("body", "content_type", "message"), REFUSED.values(), ids=REFUSED)
async def test_invalid_multipart_form_is_rejected(body: bytes, content_type: str, message: str) -> None:
    with pytest.raises(FormError, match=message):
        await take(body, 1000, content_type)


HEADERS = {
    "many types": "multipart/form-data;" * 3200,
    "many boundaries": "multipart/form-data;" + "boundary" * 8000,
    "spaces": f"multipart/form-data;{' ' * 64_000}",
    "semicolons": f"multipart/form-data{';' * 64_000}",
    "unterminated quote": 'multipart/form-data; boundary="' + '\\"' * 32_000,
}


@pytest.mark.parametrize("content_type", HEADERS.values(), ids=HEADERS)
async def test_long_content_type_is_parsed_in_linear_time(content_type: str) -> None:
    began = time.process_time()
    with pytest.raises(FormError):
        await take(b"", 1000, content_type)
    assert time.process_time() - began < 0.5

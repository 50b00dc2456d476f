"""
Download files with retries, resumption and checksums; the target is created only after the file is verified.

A partial download is kept next to the target. The next call resumes a partial download if the file on the server is
unchanged.
"""

import fcntl
import hashlib
import http.client
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec
from msgspec import Struct

from virtshape.launcher.images.addresses import ForbiddenAddressError
from virtshape.launcher.images.atomic import sync, write_atomically
from virtshape.launcher.images.errors import NoSpaceError, RefusedImageError, TransferError
from virtshape.launcher.images.progress import Progress, ignore
from virtshape.launcher.images.web import Access, describe_url, request

ATTEMPTS: Final = 5
"""Maximum number of consecutive attempts without progress."""
FIRST_PAUSE: Final = 0.5
MAX_PAUSE: Final = 20.0
SLOWEST: Final = 1024
"""Minimum bytes per second, averaged over SLOW_SECONDS; a slow download would prevent other downloads from starting."""
SLOW_SECONDS: Final = 60.0
_CHUNK: Final = 1 << 18
_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_ALGORITHMS: Final = {"md5": 32, "sha1": 40, "sha256": 64, "sha512": 128}


class SlowServerError(TransferError):
    """The server sends too slowly."""


def download(
    url: str,
    target: Path,
    *,
    access: Access = Access(),  # noqa: B008 - immutable
    checksum: str = "",
    limit: int | None = None,
    progress: Progress = ignore,
) -> None:
    """Download a file of at most `limit` bytes; `checksum` has the form `algorithm:hex`."""
    require_checksum(checksum)
    with _Partial(target, url) as partial:
        failures = 0
        while True:
            before = partial.size
            try:
                _transfer(url, access, partial, limit, progress)
                break
            except (ForbiddenAddressError, SlowServerError):
                raise
            except TransferError as error:
                failures = failures + 1 if partial.size <= before else 1
                if failures >= ATTEMPTS or (error.status is not None and error.status not in _PASSING):
                    raise
                _pause(failures, lambda: progress(partial.size, None))
        partial.verify(checksum)
        partial.finish()


def require_checksum(checksum: str) -> None:
    """Raise RefusedImageError if a checksum is malformed."""
    algorithm, _, digest = checksum.partition(":")
    if checksum and len(digest) != _ALGORITHMS.get(algorithm):
        known = ", ".join(_ALGORITHMS)
        raise RefusedImageError(f"invalid checksum {checksum!r}: must be algorithm:hex, with one of {known}")


def _transfer(url: str, access: Access, partial: "_Partial", limit: int | None, progress: Progress) -> None:
    headers = {"Accept-Encoding": "identity", **partial.resume_headers}
    try:
        response = request(url, access, headers)
    except TransferError as error:
        if error.status == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            partial.restart("")
            raise TransferError(str(error)) from error
        raise
    with response:
        if response.status != http.HTTPStatus.PARTIAL_CONTENT or _starts_at(response) != partial.size:
            if response.status == http.HTTPStatus.PARTIAL_CONTENT:
                raise TransferError(f"{describe_url(url)} sent a different range than requested")
            partial.restart(_find_validator(response))
        length = response.headers.get("Content-Length") or ""
        total = partial.size + int(length) if length.isascii() and length.isdigit() else None
        _require_size(total or 0, limit)
        _receive(response, partial, total, limit, progress)
    if total is not None and partial.size != total:
        raise TransferError(f"{describe_url(url)} closed the connection after {partial.size} of {total} bytes")


def _receive(
    response: http.client.HTTPResponse, partial: "_Partial", total: int | None, limit: int | None, progress: Progress
) -> None:
    since, before = time.monotonic(), partial.size
    while True:
        progress(partial.size, total)
        if (now := time.monotonic()) - since >= SLOW_SECONDS:
            if partial.size - before < SLOWEST * SLOW_SECONDS:
                raise SlowServerError(
                    f"the server sends too slowly: {partial.size - before} bytes in {SLOW_SECONDS:g} seconds; "
                    f"at least {SLOWEST} bytes per second are required"
                )
            since, before = now, partial.size
        try:
            chunk = response.read1(_CHUNK)
        except (http.client.HTTPException, OSError) as error:
            raise TransferError(f"the connection was lost: {error}") from error
        if not chunk:
            return
        _require_size(partial.size + len(chunk), limit)
        partial.write(chunk)


def _require_size(size: int, limit: int | None) -> None:
    if limit is not None and size > limit:
        raise RefusedImageError(f"the file has more than the {limit} bytes that are allowed")


def _starts_at(response: http.client.HTTPResponse) -> int | None:
    unit, _, ranges = response.headers.get("Content-Range", "").partition(" ")
    start = ranges.partition("-")[0]
    return int(start) if unit == "bytes" and start.isascii() and start.isdigit() else None


def _find_validator(response: http.client.HTTPResponse) -> str:
    """Return the ETag, or Last-Modified if the ETag is weak or missing."""
    tag: str = response.headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified", "")


def _pause(failures: int, beat: Callable[[], None]) -> None:
    longest = min(MAX_PAUSE, FIRST_PAUSE * 2 ** (failures - 1))
    deadline = time.monotonic() + longest * random.uniform(0.5, 1)  # noqa: S311 - jitter, not cryptography
    while time.monotonic() < deadline:
        beat()
        time.sleep(0.05)


class _Origin(Struct):
    """The URL and the validator of a partial download."""

    url: str
    validator: str


class _Partial:
    """A partial download, locked against other downloads to the same target."""

    def __init__(self, target: Path, url: str) -> None:
        self._target = target
        self._url = url
        self._path = target.with_name(f".{target.name}.download")
        self._origin = target.with_name(f".{target.name}.origin")
        self._validator = ""
        self.size = 0

    def __enter__(self) -> Self:
        self._target.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._descriptor)
            raise TransferError(f"{self._target.name} is already being downloaded") from error
        self._validator = self._read_validator()
        if self._validator:
            self.size = os.fstat(self._descriptor).st_size
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
        if isinstance(error, RefusedImageError | NoSpaceError) or (error is not None and not self._validator):
            self._path.unlink(missing_ok=True)
            self._origin.unlink(missing_ok=True)

    @property
    def resume_headers(self) -> dict[str, str]:
        """Request headers to resume the download; empty to start from the beginning."""
        if not self.size or not self._validator:
            return {}
        return {"Range": f"bytes={self.size}-", "If-Range": self._validator}

    def restart(self, validator: str) -> None:
        """Discard the content and start over with a new validator."""
        os.ftruncate(self._descriptor, 0)
        self.size, self._validator = 0, validator
        write_atomically(self._origin, msgspec.json.encode(_Origin(self._url, validator)))

    def write(self, chunk: bytes) -> None:
        """Append received bytes."""
        while chunk:
            written = os.pwrite(self._descriptor, chunk, self.size)
            chunk, self.size = chunk[written:], self.size + written

    def verify(self, checksum: str) -> None:
        """Raise RefusedImageError if the file does not have this checksum."""
        if not checksum:
            return
        algorithm, _, wanted = checksum.partition(":")
        with self._path.open("rb") as file:
            found = hashlib.file_digest(file, algorithm).hexdigest()
        if found != wanted.lower():
            raise RefusedImageError(f"the file's checksum is {algorithm}:{found}, not {checksum}")

    def finish(self) -> None:
        """Sync the file and rename it to the target."""
        sync(self._path)
        self._path.rename(self._target)
        self._origin.unlink(missing_ok=True)
        sync(self._target.parent)

    def _read_validator(self) -> str:
        try:
            origin = msgspec.json.decode(self._origin.read_bytes(), type=_Origin)
        except (OSError, msgspec.MsgspecError):
            return ""
        return origin.validator if origin.url == self._url else ""

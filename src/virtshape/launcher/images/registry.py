"""
Client for container registries (OCI distribution protocol): manifests by tag or digest, blobs by digest.

If content is requested by digest, its digest is verified. Plain HTTP is used for loopback addresses and for
registries that are configured to use it.
"""

import re
import time
from collections.abc import Callable, Collection
from http.client import HTTPException
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from virtshape.launcher.images.bundle import ImageContent
from virtshape.launcher.images.download import download
from virtshape.launcher.images.errors import RefusedImageError, TransferError
from virtshape.launcher.images.manifest import (
    INDEXES,
    MANIFESTS,
    MAX_INDEX_DEPTH,
    MAX_MANIFEST_BYTES,
    Layer,
    choose_image,
    digest_of,
    find_config,
    list_layers,
    parse_manifest,
    require_digest,
)
from virtshape.launcher.images.progress import Progress
from virtshape.launcher.images.reference import Reference
from virtshape.launcher.images.web import Access, RefusedRequestError, describe_url, request

_LOOPBACK: Final = re.compile(r"(localhost|127\.[0-9.]+|\[::1\])(:[0-9]+)?")
_PARAMETER: Final = re.compile(r'(\w+)="([^"]*)"')
_UNAUTHORIZED: Final = 401
_CHUNK: Final = 64 * 1024
MANIFEST_SECONDS: Final = 60.0
"""Maximum time for a registry to send a manifest or a token."""

T = TypeVar("T")


class _Token(Struct):
    token: str = ""
    access_token: str = ""


class Registry:
    """A repository in a registry, and the credentials to access it."""

    def __init__(
        self,
        reference: Reference,
        access: Access,
        plain: Collection[str] = (),
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        """Set up the client; `beat` is called while a manifest is read; if `beat` raises, reading stops."""
        is_plain = reference.registry in plain or _LOOPBACK.fullmatch(reference.registry)
        self._scheme = "http" if is_plain else "https"
        self._home = f"{self._scheme}://{reference.server}/v2/{reference.repository}"
        self._reference = reference
        self._credentials = access
        self._access = access._replace(user="", password="")
        self._beat = beat
        self.is_private = False
        """Whether the registry may have required the credentials."""

    def read_content(self, architecture: str) -> ImageContent:
        """Return the digest and layers of the image for an architecture."""
        version, digest = self._reference.version, self._reference.digest
        for _ in range(MAX_INDEX_DEPTH):
            content = self._fetch_manifest(version)
            if digest:
                require_digest(content, digest)
            manifest = parse_manifest(content)
            if manifest.layers is not None:
                return ImageContent(digest_of(content), list_layers(manifest), find_config(manifest))
            version = digest = choose_image(manifest, architecture).digest
        raise RefusedImageError("the container image's indexes are nested too deeply")

    def fetch_layer(self, layer: Layer, target: Path, limit: int | None, progress: Progress) -> None:
        """Download a layer of at most `limit` bytes; renew an expired token."""
        url = f"{self._home}/blobs/{layer.digest}"
        limit = min((size for size in (layer.size or None, limit) if size is not None), default=None)
        self._request_with_login(
            lambda: download(url, target, access=self._access, checksum=layer.digest, limit=limit, progress=progress)
        )

    def fetch_config(self, config: Layer) -> bytes:
        """Return the content of an image's configuration; raise RefusedImageError if its digest does not match."""
        url = f"{self._home}/blobs/{config.digest}"
        content = self._request_with_login(lambda: self._read(url, self._access, {}, "configuration"))
        require_digest(content, config.digest)
        return content

    def _fetch_manifest(self, version: str) -> bytes:
        url = f"{self._home}/manifests/{version}"
        headers = {"Accept": ", ".join([*MANIFESTS, *INDEXES])}
        return self._request_with_login(lambda: self._read(url, self._access, headers))

    def _request_with_login(self, ask: Callable[[], T]) -> T:
        """Send a request; if the server requires authentication, authenticate and retry once."""
        try:
            return ask()
        except RefusedRequestError as error:
            self._authenticate(error)
        try:
            return ask()
        except RefusedRequestError as error:
            raise self._explain(error) from error

    def _authenticate(self, error: RefusedRequestError) -> None:
        """Get the credentials or the token that a 401 response asks for; raise TransferError for other errors."""
        if error.status != _UNAUTHORIZED:
            raise self._explain(error)
        scheme, _, rest = error.headers.get("WWW-Authenticate", "").partition(" ")
        parameters = dict(_PARAMETER.findall(rest))
        self.is_private = bool(self._credentials.user)
        if scheme.lower() == "basic" and self._credentials.user:
            self._access = self._credentials
        elif scheme.lower() == "bearer" and "realm" in parameters:
            self._access = self._access._replace(headers=(("Authorization", f"Bearer {self._get_token(parameters)}"),))
        else:
            raise self._explain(error)

    def _get_token(self, parameters: dict[str, str]) -> str:
        realm = parameters.pop("realm")
        if urlsplit(realm).scheme != "https" and self._scheme == "https":
            raise TransferError(f"{self._reference.registry} requests a token from {realm}, which does not use HTTPS")
        wanted = {"scope": f"repository:{self._reference.repository}:pull", **parameters}
        try:
            answer = self._read(f"{realm}?{urlencode(wanted)}", self._credentials, {})
            token = msgspec.json.decode(answer, type=_Token)
        except RefusedRequestError as error:
            raise self._explain(error) from error
        except msgspec.MsgspecError as error:
            raise TransferError(f"{realm} did not return a token: {error}") from error
        return token.token or token.access_token

    def _explain(self, error: TransferError) -> TransferError:
        if error.status in {_UNAUTHORIZED, 403}:
            who = "the given credentials" if self._credentials.user else "no credentials"
            return TransferError(f"access to {self._reference} was denied with {who}", error.status)
        if error.status == 404:
            return TransferError(f"container image {self._reference} not found", error.status)
        return error

    def _read(self, url: str, access: Access, headers: dict[str, str], what: str = "manifest") -> bytes:
        content, deadline = bytearray(), time.monotonic() + MANIFEST_SECONDS
        with request(url, access, headers) as response:
            while len(content) <= MAX_MANIFEST_BYTES:
                self._beat()
                if time.monotonic() > deadline:
                    raise TransferError(f"{describe_url(url)} did not send its response within {MANIFEST_SECONDS:g} s")
                try:
                    chunk = response.read1(_CHUNK)
                except (HTTPException, OSError) as error:
                    raise TransferError(f"the connection was lost: {error}") from error
                if not chunk:
                    return bytes(content)
                content += chunk
        raise RefusedImageError(f"the container image's {what} has more than {MAX_MANIFEST_BYTES} bytes")

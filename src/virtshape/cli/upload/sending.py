"""
Send a file to the upload proxy: find its URL, request a token, retry if the connection breaks.

If the proxy has the API server's address, its certificate is verified with the CA in the kubeconfig, otherwise with
the CAs of the system and the CA in CDI's configuration.
"""

import asyncio
import os
import ssl
import time
from collections.abc import Awaitable
from ipaddress import ip_address
from typing import BinaryIO, Final
from urllib.parse import urlsplit, urlunsplit

from virtshape.api.cdi import CDIConfig, UploadTokenRequest, UploadTokenRequestSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.cli.connection import Session
from virtshape.cli.errors import CommandError
from virtshape.cli.progress import ProgressBar
from virtshape.cli.upload.objects import UploadRequest
from virtshape.client import tunnel
from virtshape.client.access import Access, build_context
from virtshape.client.errors import UnreachableError
from virtshape.client.requestlog import Exchange
from virtshape.client.upload import UploadProxy, UploadResponse, check_ready, send_file

ASYNC_PATH: Final = "/v1beta1/upload-async"
SYNC_PATH: Final = "/v1beta1/upload"
_CONFIG: Final = "config"
_TOKEN_NAME: Final = "token-for-virtctl"  # noqa: S105 - the name of a request
_PAUSE_SECONDS: Final = 0.5
_NAME_PROXY: Final = "Set it with --uploadproxy-url, such as https://cdi-uploadproxy.example."
_INSTALL_CDI: Final = "Install CDI, or set the URL of an upload proxy with --uploadproxy-url."
_TRUST_PROXY: Final = "Use --uploadproxy-url to set a URL that can be reached, or --insecure to accept any certificate."


async def get_proxy(session: Session, wanted: UploadRequest) -> tuple[str, bytes]:
    """Return the URL of the upload proxy, and an additional CA for it as PEM, which may be empty."""
    if wanted.proxy:
        return add_scheme(wanted.proxy), b""
    try:
        config = await session.client.get(CDIConfig, _CONFIG)
    except StatusError as error:
        if error.code not in (403, 404):
            raise
        if error.code == 404 and not error.details.kind:
            raise CommandError("cannot upload: CDI is not installed", next_step=_INSTALL_CDI) from error
        raise CommandError(f"uploadproxy URL not found: {error.message}", next_step=_NAME_PROXY) from error
    status = config.status
    url = config.spec.upload_proxy_url_override or (status.upload_proxy_url if status is not None else None)
    if not url:
        raise CommandError("uploadproxy URL not found", next_step=_NAME_PROXY)
    authority = (status.upload_proxy_ca if status is not None else None) or ""
    return replace_loopback(add_scheme(url), session.access.server), authority.encode()


def add_scheme(url: str) -> str:
    """Return the URL with a scheme; https:// by default."""
    return url if "://" in url else f"https://{url}"


def replace_loopback(url: str, server: str) -> str:
    """Return the URL of the API server instead of a loopback URL, unless the API server is local too."""
    if not _is_loopback(urlsplit(url).hostname or "") or _is_loopback(urlsplit(server).hostname or ""):
        return url
    return server


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def send_image(
    session: Session, wanted: UploadRequest, url: str, authority: bytes, file: BinaryIO, size: int
) -> None:
    """Send a file; raise CommandError if the proxy rejects it or cannot be reached."""
    tls = _build_tls(session, wanted, url, authority) if urlsplit(url).scheme == "https" else None
    bar = ProgressBar(size)
    try:
        for attempt in range(1, wanted.tries + 1):
            is_last = attempt == wanted.tries
            try:
                response = await _send(session, wanted, url, tls, file, size, bar)
            except UnreachableError as error:
                if is_last:
                    raise CommandError(str(error), next_step=_TRUST_PROXY) from error
            else:
                if response.status == 200:
                    return
                if is_last or response.status < 500 or response.status == 501:
                    raise _build_error(response, wanted)
            await asyncio.sleep(_PAUSE_SECONDS * attempt)
    finally:
        bar.finish()


async def _send(
    session: Session,
    wanted: UploadRequest,
    url: str,
    tls: ssl.SSLContext | None,
    file: BinaryIO,
    size: int,
    bar: ProgressBar,
) -> UploadResponse:
    token, http_proxy = await request_token(session, wanted.name), find_http_proxy(session.access, url)
    proxy = UploadProxy(join_path(url, ASYNC_PATH), token, tls, http_proxy)
    if (await _log(session, "HEAD", proxy, check_ready(proxy))).status != 200:
        proxy = UploadProxy(join_path(url, SYNC_PATH), token, tls, http_proxy)
    file.seek(0)
    return await _log(session, "POST", proxy, send_file(proxy, file, size, bar.show))


async def _log(session: Session, method: str, proxy: UploadProxy, request: Awaitable[UploadResponse]) -> UploadResponse:
    """Await a request to the upload proxy, and log it if the session logs requests."""
    began, status = time.monotonic(), 0
    try:
        response = await request
        status = response.status
        return response
    finally:
        if session.log_request is not None:
            session.log_request(Exchange(method, proxy.url, status, time.monotonic() - began))


def find_http_proxy(access: Access, url: str) -> str:
    """Return the HTTP proxy for a URL: the kubeconfig's for the API server, the environment's for other servers."""
    is_own = urlsplit(url).netloc == urlsplit(access.server).netloc
    return access.proxy if is_own else tunnel.find_proxy(url, os.environ)


async def request_token(session: Session, name: str) -> str:
    """Return a token for uploads to a PVC."""
    request = UploadTokenRequest(
        api_version="upload.cdi.kubevirt.io/v1beta1",
        kind="UploadTokenRequest",
        metadata=ObjectMeta(name=_TOKEN_NAME, namespace=session.namespace),
        spec=UploadTokenRequestSpec(pvc_name=name),
    )
    created = await session.client.create(request)
    return (created.status.token if created.status is not None else None) or ""


def join_path(url: str, path: str) -> str:
    """Return the URL with this path appended, unless the URL already ends with the path."""
    parts = urlsplit(url)
    if parts.path.endswith(path):
        return url
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path))


def _build_tls(session: Session, wanted: UploadRequest, url: str, authority: bytes) -> ssl.SSLContext:
    access = session.access
    is_own = urlsplit(url).netloc == urlsplit(access.server).netloc
    insecure = wanted.is_insecure or (is_own and access.insecure)
    if is_own and access.authority:
        return build_context(Access(access.server, authority=access.authority, insecure=insecure), None)
    context = build_context(Access(url, insecure=insecure), None)
    if authority:
        try:
            context.load_verify_locations(cadata=authority.decode())
        except (ssl.SSLError, ValueError) as error:
            raise CommandError(f"invalid CA in CDIConfig {_CONFIG}: {error}") from error
    return context


def _build_error(response: UploadResponse, wanted: UploadRequest) -> CommandError:
    message = f"unexpected return value {response.status}, {response.message}".rstrip(", ")
    steps = {
        400: f"Check that {wanted.path} is a raw or qcow2 image, optionally gz or xz, that fits --size.",
        401: "Try again: a token is valid for five minutes.",
        404: "Check the URL of the upload proxy: --uploadproxy-url.",
        503: "Try again later, or set the number of attempts with --retry.",
    }
    return CommandError(message, next_step=steps.get(response.status))

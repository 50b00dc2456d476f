"""
The sending of an upload: where to, with what token, and again if it breaks off.

Trusts at the server's own address whom the kubeconfig trusts, and elsewhere the system's authorities and the one that
CDI's configuration names.
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
from virtshape.cli.upload.objects import UploadRequest
from virtshape.cli.upload.progressbar import Bar
from virtshape.client import tunnel
from virtshape.client.access import Access, build_context
from virtshape.client.errors import UnreachableError
from virtshape.client.requestlog import Exchange
from virtshape.client.upload import Answer, Proxy, ask_whether_ready, send_file

ASYNC_PATH: Final = "/v1beta1/upload-async"
SYNC_PATH: Final = "/v1beta1/upload"
_CONFIG: Final = "config"
_TOKEN_NAME: Final = "token-for-virtctl"  # noqa: S105 - the name of a request
_PAUSE_SECONDS: Final = 0.5
_NAME_PROXY: Final = "Name it with --uploadproxy-url, such as https://cdi-uploadproxy.example."
_INSTALL_CDI: Final = "Have CDI installed, or name an upload proxy that is there all the same: --uploadproxy-url."
_TRUST_PROXY: Final = "Name an address that can be reached with --uploadproxy-url, or trust anybody with --insecure."


async def find_proxy(session: Session, wanted: UploadRequest) -> tuple[str, bytes]:
    """Where to upload to, with its scheme, and the authority to trust there besides the known ones, as PEM."""
    if wanted.proxy:
        return add_scheme(wanted.proxy), b""
    try:
        config = await session.client.get(CDIConfig, _CONFIG)
    except StatusError as error:
        if error.code not in (403, 404):
            raise
        if error.code == 404 and not error.details.kind:
            raise CommandError("nothing here takes uploads: the cluster has no CDI", next_step=_INSTALL_CDI) from error
        raise CommandError(f"uploadproxy URL not found: {error.message}", next_step=_NAME_PROXY) from error
    status = config.status
    url = config.spec.upload_proxy_url_override or (status.upload_proxy_url if status is not None else None)
    if not url:
        raise CommandError("uploadproxy URL not found", next_step=_NAME_PROXY)
    authority = (status.upload_proxy_ca if status is not None else None) or ""
    return reach(add_scheme(url), session.access.server), authority.encode()


def add_scheme(url: str) -> str:
    """The address with its scheme, which is that of TLS where it has none."""
    return url if "://" in url else f"https://{url}"


def reach(url: str, server: str) -> str:
    """The address as it is reached from here: a server that only knows itself as this machine is where it is asked."""
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
    """Send a file; CommandError if it is not taken."""
    tls = _build_tls(session, wanted, url, authority) if urlsplit(url).scheme == "https" else None
    bar = Bar(size)
    try:
        for attempt in range(1, wanted.tries + 1):
            is_last = attempt == wanted.tries
            try:
                answer = await _send(session, wanted, url, tls, file, size, bar)
            except UnreachableError as error:
                if is_last:
                    raise CommandError(str(error), next_step=_TRUST_PROXY) from error
            else:
                if answer.status == 200:
                    return
                if is_last or answer.status < 500 or answer.status == 501:
                    raise _refuse(answer, wanted)
            await asyncio.sleep(_PAUSE_SECONDS * attempt)
    finally:
        bar.finish()


async def _send(
    session: Session, wanted: UploadRequest, url: str, tls: ssl.SSLContext | None, file: BinaryIO, size: int, bar: Bar
) -> Answer:
    token, way = await request_token(session, wanted.name), find_way(session.access, url)
    proxy = Proxy(join_path(url, ASYNC_PATH), token, tls, way)
    if (await _tell(session, "HEAD", proxy, ask_whether_ready(proxy))).status != 200:
        proxy = Proxy(join_path(url, SYNC_PATH), token, tls, way)
    file.seek(0)
    return await _tell(session, "POST", proxy, send_file(proxy, file, size, bar.show))


async def _tell(session: Session, method: str, proxy: Proxy, asking: Awaitable[Answer]) -> Answer:
    """Have it told what became of a request to the upload proxy, if anybody listens."""
    began, status = time.monotonic(), 0
    try:
        answer = await asking
        status = answer.status
        return answer
    finally:
        if session.log_request is not None:
            session.log_request(Exchange(method, proxy.url, status, time.monotonic() - began))


def find_way(access: Access, url: str) -> str:
    """The proxy that leads to the address: the server's own if it is the server's, else what the environment names."""
    is_own = urlsplit(url).netloc == urlsplit(access.server).netloc
    return access.proxy if is_own else tunnel.find_proxy(url, os.environ)


async def request_token(session: Session, name: str) -> str:
    """A token to upload to a claim with."""
    asked = UploadTokenRequest(
        api_version="upload.cdi.kubevirt.io/v1beta1",
        kind="UploadTokenRequest",
        metadata=ObjectMeta(name=_TOKEN_NAME, namespace=session.namespace),
        spec=UploadTokenRequestSpec(pvc_name=name),
    )
    answered = await session.client.create(asked)
    return (answered.status.token if answered.status is not None else None) or ""


def join_path(url: str, path: str) -> str:
    """The address with this path at its end."""
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
            raise CommandError(f"the authority that CDIConfig {_CONFIG} names is no good: {error}") from error
    return context


def _refuse(answer: Answer, wanted: UploadRequest) -> CommandError:
    words = f"unexpected return value {answer.status}, {answer.words}".rstrip(", ")
    steps = {
        400: f"Check that {wanted.path} is a raw or qcow2 image, also gz or xz, that fits --size.",
        401: "Try again: a token is good for five minutes.",
        404: "Check the address of the upload proxy: --uploadproxy-url.",
        503: "Try again in a while; --retry says how often that is done.",
    }
    return CommandError(words, next_step=steps.get(answer.status))

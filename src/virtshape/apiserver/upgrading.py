"""
Streams between clients and guests: how a request for one is answered, and how it is carried until either side goes.

What the stream leads to is somebody else's business.
"""

import asyncio
import logging
from typing import Final

from virtshape.api.status import StatusError
from virtshape.apiserver.message import Request
from virtshape.stream.duplex import FAILED, GOING_AWAY, NORMAL, Duplex, HangUp
from virtshape.stream.handshake import PLAIN, VERSION, accept_key, is_key, split_list
from virtshape.stream.relay import relay
from virtshape.stream.websocket import CLOSING_SECONDS, WebSocket
from virtshape.supervise.supervisor import log_failure

PING_SECONDS: Final = 10.0
SILENCE_SECONDS: Final = 60.0
FAREWELL_SECONDS: Final = 1.0
"""How long clients have to say goodbye to a server that stops."""
DELIVERY_SECONDS: Final = 5.0
"""How long a guest has to take what a client sent before it left."""

_log = logging.getLogger(__name__)


def answer_handshake(request: Request) -> tuple[tuple[str, str], ...]:
    """The headers that consent to a WebSocket; StatusError if the request does not ask for one as it should."""
    if not request.wants_websocket:
        raise StatusError(400, "BadRequest", "this is a stream: ask for it with a WebSocket")
    headers = request.headers
    if headers.get("sec-websocket-version") != VERSION:
        raise StatusError(400, "BadRequest", f"websocket: unsupported version: version {VERSION} is spoken here")
    key = headers.get("sec-websocket-key", "")
    if not is_key(key):
        raise StatusError(400, "BadRequest", "websocket: Sec-WebSocket-Key is not 16 bytes in base 64")
    consent = [("upgrade", "websocket"), ("connection", "Upgrade"), ("sec-websocket-accept", accept_key(key))]
    if PLAIN in split_list(headers.get("sec-websocket-protocol", "")):
        consent.append(("sec-websocket-protocol", PLAIN))
    return tuple(consent)


async def carry(socket: WebSocket, guest: Duplex) -> None:
    """Carry bytes between a client and a guest until either goes; then let go of both, and tell the client why."""
    code, message, seconds = NORMAL, "", CLOSING_SECONDS
    beating = asyncio.create_task(_keep_alive(socket), name="keeping a stream alive")
    beating.add_done_callback(log_failure)
    try:
        await _relay_and_deliver(socket, guest)
    except HangUp as end:
        code, message = end.code, end.words
    except OSError as error:
        code, message = FAILED, f"the connection to the guest broke off: {error.strerror or error}"
    except asyncio.CancelledError:
        code, message, seconds = GOING_AWAY, "the server is stopping", FAREWELL_SECONDS
        raise
    except Exception:  # noqa: BLE001 - the client is to be told, and nobody else would
        _log.exception("a stream failed")
        code, message = FAILED, "the server's log says what failed"
    finally:
        beating.cancel()
        await asyncio.gather(guest.close(), socket.close(code, message, seconds), return_exceptions=True)


async def _relay_and_deliver(socket: WebSocket, guest: Duplex) -> None:
    """Carry bytes, also those that a client sent last; a guest that does not take them is given up."""
    relaying = asyncio.create_task(relay(guest, socket))
    leaving = asyncio.create_task(socket.wait_ended())
    try:
        await asyncio.wait([relaying, leaving], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait([relaying], timeout=DELIVERY_SECONDS)
    finally:
        leaving.cancel()
        relaying.cancel()
        await asyncio.wait([relaying])
    if not relaying.cancelled():
        relaying.result()


async def _keep_alive(socket: WebSocket) -> None:
    """Ask the client for signs of life, and hang up when there are none."""
    while socket.measure_silence() < SILENCE_SECONDS:
        await asyncio.sleep(PING_SECONDS)
        socket.ping()
    socket.abort()

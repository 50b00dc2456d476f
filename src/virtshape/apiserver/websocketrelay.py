"""WebSocket streams between clients and guests: the handshake, and relaying until either side disconnects."""

import asyncio
import logging
from typing import Final

from virtshape.api.status import StatusError
from virtshape.apiserver.message import Request
from virtshape.stream.duplex import FAILED, GOING_AWAY, NORMAL, Duplex, StreamClosed
from virtshape.stream.handshake import PLAIN, VERSION, accept_key, is_key, split_list
from virtshape.stream.relay import relay
from virtshape.stream.websocket import CLOSING_SECONDS, WebSocket
from virtshape.supervise.supervisor import log_failure

PING_SECONDS: Final = 10.0
SILENCE_SECONDS: Final = 60.0
CLOSE_SECONDS: Final = 1.0
"""How long clients may take to close their side of a WebSocket when the server stops."""
LAST_WRITE_SECONDS: Final = 5.0
"""How long a guest may take to accept the last bytes from a client that has disconnected."""

_log = logging.getLogger(__name__)


def accept_handshake(request: Request) -> tuple[tuple[str, str], ...]:
    """Return the headers that accept a WebSocket; raise StatusError if the handshake is invalid."""
    if not request.wants_websocket:
        raise StatusError(400, "BadRequest", "this endpoint is a stream: connect with a WebSocket")
    headers = request.headers
    if headers.get("sec-websocket-version") != VERSION:
        raise StatusError(400, "BadRequest", f"websocket: unsupported version: the server supports version {VERSION}")
    key = headers.get("sec-websocket-key", "")
    if not is_key(key):
        raise StatusError(400, "BadRequest", "websocket: Sec-WebSocket-Key must be 16 bytes in base64")
    accepted = [("upgrade", "websocket"), ("connection", "Upgrade"), ("sec-websocket-accept", accept_key(key))]
    if PLAIN in split_list(headers.get("sec-websocket-protocol", "")):
        accepted.append(("sec-websocket-protocol", PLAIN))
    return tuple(accepted)


async def relay_stream(socket: WebSocket, guest: Duplex) -> None:
    """Relay bytes between a client and a guest until either disconnects; then close both streams with the reason."""
    code, message, seconds = NORMAL, "", CLOSING_SECONDS
    keepalive = asyncio.create_task(_keep_alive(socket), name="WebSocket keepalive")
    keepalive.add_done_callback(log_failure)
    try:
        await _relay_and_deliver(socket, guest)
    except StreamClosed as end:
        code, message = end.code, end.reason
    except OSError as error:
        code, message = FAILED, f"lost the connection to the guest: {error.strerror or error}"
    except asyncio.CancelledError:
        code, message, seconds = GOING_AWAY, "the server is stopping", CLOSE_SECONDS
        raise
    except Exception:  # noqa: BLE001 - the client must get a close frame with a reason
        _log.exception("relaying a WebSocket stream failed; closing it")
        code, message = FAILED, "internal error: see the server log"
    finally:
        keepalive.cancel()
        await asyncio.gather(guest.close(), socket.close(code, message, seconds), return_exceptions=True)


async def _relay_and_deliver(socket: WebSocket, guest: Duplex) -> None:
    """Relay bytes; after the client disconnects, give the guest LAST_WRITE_SECONDS to accept unsent bytes."""
    relay_task = asyncio.create_task(relay(guest, socket))
    disconnect = asyncio.create_task(socket.wait_ended())
    try:
        await asyncio.wait([relay_task, disconnect], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait([relay_task], timeout=LAST_WRITE_SECONDS)
    finally:
        disconnect.cancel()
        relay_task.cancel()
        await asyncio.wait([relay_task])
    if not relay_task.cancelled():
        relay_task.result()


async def _keep_alive(socket: WebSocket) -> None:
    """Ping the client, and abort the connection if the client does not respond."""
    while socket.measure_silence() < SILENCE_SECONDS:
        await asyncio.sleep(PING_SECONDS)
        socket.ping()
    socket.abort()

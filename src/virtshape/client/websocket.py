"""Client side of a WebSocket on an upgraded connection."""

import asyncio

from websockets.protocol import Side

from virtshape.stream.websocket import WebSocket


class WebSocketProtocol(asyncio.Protocol):
    """Passes received data to a WebSocket, which exists once the connection is made."""

    socket: WebSocket

    def __init__(self, *, join_fragments: bool) -> None:
        self._join_fragments = join_fragments

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Create the WebSocket."""
        self.socket = WebSocket(transport, Side.CLIENT, join_fragments=self._join_fragments)  # type: ignore[arg-type]  # always TCP

    def data_received(self, data: bytes) -> None:
        """Pass received data on."""
        self.socket.receive(data)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Mark the WebSocket as disconnected."""
        self.socket.lose()

    def pause_writing(self) -> None:
        """Pause writing until the server has caught up."""
        self.socket.pause_writing()

    def resume_writing(self) -> None:
        """Resume writing."""
        self.socket.resume_writing()

"""
The client's end of a WebSocket on a connection that has agreed to be one.

Only passes on what asyncio tells.
"""

import asyncio

from websockets.protocol import Side

from virtshape.stream.websocket import WebSocket


class WebSocketProtocol(asyncio.Protocol):
    """Feeds a WebSocket, which is there once the connection is."""

    socket: WebSocket

    def __init__(self, *, whole_messages: bool) -> None:
        self._whole_messages = whole_messages

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.socket = WebSocket(transport, Side.CLIENT, whole_messages=self._whole_messages)  # type: ignore[arg-type]  # of TCP

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        self.socket.receive(data)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Note that nothing more will come."""
        self.socket.lose()

    def pause_writing(self) -> None:
        """Note that the server is slow to read."""
        self.socket.pause_writing()

    def resume_writing(self) -> None:
        """Note that it has caught up."""
        self.socket.resume_writing()

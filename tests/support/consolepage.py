"""Sends requests to a cluster's web console as a browser page does, with its headers and session cookie."""

import json

from tests.support.browser import SESSION

from virtshape.client.access import Access
from virtshape.client.http import HttpTransport
from virtshape.client.transport import Call, Reply
from virtshape.stream.websocket import WebSocket


class ConsolePage:
    """A page that may be signed in; close it after use."""

    def __init__(self, url: str, authority: bytes) -> None:
        self.transport = HttpTransport(Access(url, authority=authority))
        self.headers = {"origin": url}

    async def call(self, method: str, target: str, tree: object = None, **headers: str) -> Reply:
        """Send a request with a JSON body."""
        body = b"" if tree is None else json.dumps(tree).encode()
        given = {**self.headers, "content-type": "application/json", **headers}
        return await self.transport.call(Call(method, target, given, body))

    async def sign_in(self, **credential: str) -> Reply:
        """Sign in with `token` or `code`, and store the session cookie."""
        reply = await self.call("POST", SESSION, credential)
        if reply.status == 200:
            self.headers["cookie"] = reply.headers["set-cookie"].partition(";")[0]
            self.headers["x-csrf-token"] = json.loads(reply.body)["csrfToken"]
        return reply

    async def open_socket(self, target: str, **headers: str) -> WebSocket:
        """Open a WebSocket, with only those headers that browsers can send for WebSockets."""
        given = {name: text for name, text in self.headers.items() if name in ("origin", "cookie")}
        return await self.transport.open_socket(Call("GET", target, {**given, **headers}))

    async def close(self) -> None:
        """Close the connections."""
        await self.transport.close()

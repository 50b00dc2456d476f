"""Send the requests of a web console page without a browser: with the same headers and session cookie."""

import http.client
import json
from collections.abc import Mapping
from typing import Any, Self

from tests.support.loopback import HOST, TIMEOUT, LoopbackServer, Response

SESSION = "/console/session"


class BrowserClient:
    """Sends requests as a page of the web console does; closed by its `with` block."""

    def __init__(self, server: LoopbackServer) -> None:
        self._server = server
        self._connection = http.client.HTTPConnection(HOST, server.port, timeout=TIMEOUT)
        self.cookie = ""
        self.csrf_token = ""

    @property
    def origin(self) -> str:
        return f"https://{HOST}:{self._server.port}"

    def sign_in(self, **credential: str) -> Response:
        """Sign in with `token` or `code`, as the administrator by default, and store the cookie."""
        response = self.send("POST", SESSION, credential or {"token": self._server.token})
        if response.status == 200:
            self.cookie = response.headers["set-cookie"].partition(";")[0]
            self.csrf_token = response.tree["csrfToken"]
        return response

    def send(
        self, method: str, path: str, body: object = None, *, headers: Mapping[str, str | None] | None = None
    ) -> Response:
        """Send a request; a header whose value is None is omitted."""
        given: dict[str, str | None] = {"Sec-Fetch-Site": "same-origin", "Cookie": self.cookie or None}
        if method not in ("GET", "HEAD"):
            given |= {
                "Origin": self.origin,
                "X-CSRF-Token": self.csrf_token or None,
                "Content-Type": "application/json",
            }
        sent = {name: text for name, text in {**given, **(headers or {})}.items() if text is not None}
        self._connection.request(method, path, _encode(body), sent)
        response = self._connection.getresponse()
        return Response(response.status, response.headers, response.read())

    def get(self, path: str, **headers: Any) -> Response:
        return self.send("GET", path, headers=headers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def _encode(body: object) -> bytes | None:
    return body if body is None or isinstance(body, bytes) else json.dumps(body).encode()

"""The server's certificate is renewed while it runs, without closing connections."""

import asyncio
import http.client
import json
import ssl
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.loopback import TIMEOUT

from virtshape.apiserver.auth.kubeconfig import find_token
from virtshape.standalone.server import Ready, Settings, serve

LIFETIME = timedelta(seconds=20)


class TlsClient:
    """A TLS client that trusts the data directory's CA and reuses its connection."""

    def __init__(self, ready: Ready, directory: Path) -> None:
        place = urlsplit(ready.url)
        context = ssl.create_default_context(cafile=str(directory / "pki" / "ca.crt"))
        self._connection = http.client.HTTPSConnection(
            place.hostname or "", place.port, context=context, timeout=TIMEOUT
        )
        self._headers = {"Authorization": f"Bearer {find_token(ready.kubeconfig.read_text())}"}
        self._connection.connect()
        shown = self._connection.sock.getpeercert()
        assert shown is not None
        self.serial = shown["serialNumber"]
        self.expires_at = ssl.cert_time_to_seconds(str(shown["notAfter"]))

    @property
    def local_port(self) -> object:
        """The local port of the current connection."""
        return self._connection.sock.getsockname()[1]

    def close(self) -> None:
        self._connection.close()

    def get(self, path: str) -> int:
        self._connection.request("GET", path, headers=self._headers)
        response = self._connection.getresponse()
        response.read()
        return response.status

    def watch(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", path, headers=self._headers)
        return self._connection.getresponse()

    def create(self, name: str) -> int:
        body = json.dumps({"metadata": {"name": name}}).encode()
        self._connection.request("POST", "/api/v1/namespaces/default/configmaps", body, self._headers)
        response = self._connection.getresponse()
        response.read()
        return response.status


def read_serial(ready: Ready, directory: Path) -> object:
    """Return the serial number of the certificate that a new connection gets."""
    with closing(TlsClient(ready, directory)) as visitor:
        return visitor.serial


def check_renewal(ready: Ready, directory: Path) -> None:
    with closing(TlsClient(ready, directory)) as kept, closing(TlsClient(ready, directory)) as watching:
        port = kept.local_port
        stream = watching.watch("/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=300")
        deadline = time.monotonic() + TIMEOUT
        while read_serial(ready, directory) == kept.serial:
            assert time.monotonic() < deadline, "the certificate was not renewed"
            time.sleep(0.2)
        while time.time() <= kept.expires_at:
            time.sleep(0.1)
        assert kept.get("/api/v1/namespaces/default") == 200
        assert kept.local_port == port
        with closing(TlsClient(ready, directory)) as newest:
            assert newest.create("news") == 201
        assert json.loads(stream.readline())["object"]["metadata"]["name"] == "news"
        stream.close()


async def test_certificate_is_renewed_without_closing_connections(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir(mode=0o700)
    settings = Settings(directory=directory, port=0, catalog=False, certificate_lifetime=LIFETIME)

    async with serve(settings) as ready:
        await asyncio.to_thread(check_renewal, ready, directory)

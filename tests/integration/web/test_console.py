"""The web console over HTTP: headers, URLs, WebSockets with a cookie, and the link that `virtshape open` prints."""

import http.client
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.support.browser import SESSION, BrowserClient
from tests.support.echoguests import HELLO
from tests.support.loopback import HOST, TIMEOUT, LoopbackServer
from tests.support.streamsetup import open_stream_setup
from tests.support.upprocess import System, call_virtshape

from virtshape.api.status import StatusError
from virtshape.apiserver import sessionstreams
from virtshape.apiserver.auth.kubeconfig import find_token
from virtshape.client.access import Credentials, StaticCredentials
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
from virtshape.client.transport import Call
from virtshape.stream.duplex import StreamClosed
from virtshape.web.securityheaders import CONTENT_SECURITY_POLICY

GUEST_CONSOLE = "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/web/console"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackServer]:
    with LoopbackServer(tmp_path_factory.mktemp("console") / "data") as running:
        yield running


@pytest.fixture
def browser(server: LoopbackServer) -> Iterator[BrowserClient]:
    with BrowserClient(server) as opened:
        yield opened


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/console"),
        ("GET", "/console/"),
        ("GET", "/console/vms/default/web"),
        ("HEAD", "/console/"),
        ("POST", "/console/"),
        ("GET", "/console/assets/absent.js"),
        ("GET", SESSION),
        ("POST", SESSION),
        ("DELETE", SESSION),
        ("PATCH", SESSION),
        ("POST", "/console/codes"),
        ("GET", "/console/codes"),
    ],
)
def test_every_response_has_the_security_headers(browser: BrowserClient, method: str, path: str) -> None:
    headers = browser.send(method, path).headers
    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


def test_session_responses_are_never_cached(browser: BrowserClient) -> None:
    assert browser.sign_in().headers["cache-control"] == "no-store"
    assert browser.get(SESSION).headers["cache-control"] == "no-store"


@pytest.mark.parametrize(("method", "allowed"), [("PUT", "GET, HEAD"), ("OPTIONS", "GET, HEAD")])
def test_web_console_allows_only_get_and_head(browser: BrowserClient, method: str, allowed: str) -> None:
    response = browser.send(method, "/console/")
    assert (response.status, response.headers["allow"]) == (405, allowed)


def test_root_redirects_browsers_but_not_api_clients_to_the_console(
    server: LoopbackServer, browser: BrowserClient
) -> None:
    response = browser.get("/", Accept="text/html,application/xhtml+xml,*/*;q=0.8")
    assert (response.status, response.headers["location"]) == (303, "/console/")
    assert browser.get("/console").headers["location"] == "/console/"
    client = server.connect()
    for accept in ("application/json", "*/*"):
        assert "paths" in client.get("/", accept=accept).tree
    client.close()


@pytest.mark.parametrize(
    "path",
    [
        "/console/../pki/users.json",
        "/console/assets/../../console.py",
        "/console/%2e%2e/console.py",
        "/console/assets/%2e%2e%2f%2e%2e%2fconsole.py",
        "/console//etc/passwd",
        "/console/assets/..%5c..%5cconsole.py",
    ],
)
def test_path_traversal_cannot_read_files_outside_the_asset_directory(server: LoopbackServer, path: str) -> None:
    connection = http.client.HTTPConnection(HOST, server.port, timeout=TIMEOUT)
    connection.putrequest("GET", path)
    connection.endheaders()
    response = connection.getresponse()
    body = response.read()
    connection.close()
    assert response.status in (200, 404)
    assert b"class Console" not in body
    assert b"root:" not in body


@asynccontextmanager
async def open_browser(folder: Path) -> AsyncIterator[tuple[HttpTransport, dict[str, str]]]:
    """Run a server with the guest `web`; yield a transport without credentials and the headers of a signed-in page."""
    async with open_stream_setup(folder, "web") as setup:
        access = get_access(path=str(setup.system.kubeconfig))
        transport = HttpTransport(replace(access, credentials=StaticCredentials(Credentials())))
        headers = {"origin": setup.system.url, "content-type": "application/json"}
        body = json.dumps({"token": find_token(setup.system.kubeconfig.read_text())}).encode()
        try:
            reply = await transport.call(Call("POST", SESSION, headers, body))
            assert reply.status == 200
            yield transport, {"origin": setup.system.url, "cookie": reply.headers["set-cookie"].partition(";")[0]}
        finally:
            await transport.close()


async def test_signed_in_page_opens_the_serial_console_of_a_guest(tmp_path: Path) -> None:
    async with open_browser(tmp_path) as (transport, headers):
        socket = await transport.open_socket(Call("GET", GUEST_CONSOLE, headers))
        assert await socket.read() == HELLO
        await socket.write(b"root\r")
        assert await socket.read() == b"root\r"
        await socket.close()


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "https://127.0.0.1:1", None])
async def test_pages_of_other_sites_cannot_connect_to_the_console_of_a_guest(
    tmp_path: Path, origin: str | None
) -> None:
    async with open_browser(tmp_path) as (transport, headers):
        del headers["origin"]
        if origin is not None:
            headers["origin"] = origin
        headers["sec-fetch-site"] = "same-origin"  # not sufficient: some browsers omit it with WebSockets
        with pytest.raises(StatusError) as refused:
            await transport.open_socket(Call("GET", GUEST_CONSOLE, headers))
        assert refused.value.code == 403


async def test_console_of_a_guest_is_closed_when_the_session_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessionstreams, "CHECK_SECONDS", 0.0)
    async with open_browser(tmp_path) as (transport, headers):
        socket = await transport.open_socket(Call("GET", GUEST_CONSOLE, headers))
        assert await socket.read() == HELLO
        shown = json.loads((await transport.call(Call("GET", SESSION, headers))).body)
        headers["x-csrf-token"] = shown["csrfToken"]
        assert (await transport.call(Call("DELETE", SESSION, headers))).status == 200
        await socket.write(b"poweroff\r")
        with pytest.raises(StreamClosed, match="the session has ended"):
            await socket.read()
        await socket.close()


async def test_serial_console_of_a_guest_requires_a_session(tmp_path: Path) -> None:
    async with open_browser(tmp_path) as (transport, headers):
        del headers["cookie"]
        with pytest.raises(StatusError) as refused:
            await transport.open_socket(Call("GET", GUEST_CONSOLE, headers))
        assert refused.value.code == 401


def read_code(text: str) -> str:
    """Return the code of the only link in a text."""
    _, mark, rest = text.partition("/console/#code=")
    assert mark, text
    return rest.split()[0]


def sign_in(system: System, code: str) -> dict[str, object]:
    headers = {"Authorization": "", "Origin": system.url}
    status, session = system.request("POST", SESSION, {"code": code}, **headers)
    assert status in (200, 401)
    return {"status": status, "username": session.get("username")}


def test_up_and_open_print_links_that_sign_in_once(tmp_path: Path) -> None:
    with System(tmp_path / "data", "--no-controllers", "--no-catalog", "--log-level", "debug") as system:
        code = read_code(system.greeting)
        assert f"{system.url}/console/#code={code}" in system.greeting
        assert sign_in(system, code) == {"status": 200, "username": "admin"}
        assert sign_in(system, code)["status"] == 401
        opened = call_virtshape("open", "--print", "--data-dir", system.directory)
        assert (opened.returncode, opened.stderr) == (0, "")
        assert opened.stdout.strip() == f"{system.url}/console/#code={read_code(opened.stdout)}"
        assert sign_in(system, read_code(opened.stdout)) == {"status": 200, "username": "admin"}
        codes = [code, read_code(opened.stdout)]
        codes.append(open_as_certificate_user(system, tmp_path))
        log = system.log.read_text() + (system.directory / "audit.log").read_text()
        assert SESSION in log, "requests are logged"
        assert not any(secret in log for secret in (*codes, system.config["token"]))


def open_as_certificate_user(system: System, folder: Path) -> str:
    """Run `virtshape open` as a user with a client certificate, sign in with the code, and return the code."""
    made = call_virtshape("user", "add", "jane", "--data-dir", system.directory)
    assert made.returncode == 0, made.stderr
    kubeconfig = folder / "jane.kubeconfig"
    kubeconfig.write_text(made.stdout)
    environment = {"DISPLAY": "", "WAYLAND_DISPLAY": ""}
    opened = call_virtshape("open", "--kubeconfig", kubeconfig, **environment)
    assert opened.returncode == 0, opened.stderr
    code = read_code(opened.stdout)
    assert sign_in(system, code) == {"status": 200, "username": "jane"}
    return code


def test_virtshape_open_requires_a_running_server(tmp_path: Path) -> None:
    opened = call_virtshape("open", "--data-dir", tmp_path / "absent")
    assert opened.returncode == 1
    assert "is not a data directory of virtshape" in opened.stderr
    assert f"virtshape up --data-dir {tmp_path / 'absent'}" in opened.stderr

"""Sessions of the web console: sign in, act with the user's own permissions, sign out."""

import http.client
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.browser import SESSION, BrowserClient
from tests.support.loopback import HOST, TIMEOUT, Client, LoopbackServer

from virtshape.apiserver.auth import authentication
from virtshape.apiserver.auth.kubeconfig import find_token
from virtshape.apiserver.auth.users import create_user, remove_user
from virtshape.web.signin import MAX_FAILURES

NODES = "/api/v1/nodes"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LoopbackServer]:
    with LoopbackServer(tmp_path / "data") as running:
        yield running


@pytest.fixture
def browser(server: LoopbackServer) -> Iterator[BrowserClient]:
    with BrowserClient(server) as opened:
        yield opened


def build_map(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def add_viewer(server: LoopbackServer, lifetime: timedelta = timedelta(days=1)) -> str:
    """Create the user jane without permissions and return her token."""
    made = create_user(server.system.directory, server.url, "jane", by="token", lifetime=lifetime)
    return find_token(made.kubeconfig) or ""


def issue_code(server: LoopbackServer, token: str | None = None) -> str:
    client = Client(server.port, token or server.token)
    try:
        response = client.send("POST", "/console/codes")
    finally:
        client.close()
    assert response.status == 201, response.body
    code: str = response.tree["code"]
    return code


def test_session_started_with_a_token_has_the_identity_of_its_user(browser: BrowserClient) -> None:
    before = datetime.now(UTC)
    response = browser.sign_in()
    assert response.status == 200
    assert (response.tree["username"], response.tree["groups"]) == ("admin", ["system:masters", "system:authenticated"])
    assert response.tree["uploads"] is True
    expires = datetime.fromisoformat(response.tree["expires"])
    assert timedelta(hours=7, minutes=59) < expires - before < timedelta(hours=8, minutes=1)
    assert browser.get(SESSION).tree == response.tree


def test_cookie_is_only_for_this_host_over_https_and_not_for_scripts(
    server: LoopbackServer, browser: BrowserClient
) -> None:
    name, *attributes = browser.sign_in().headers["set-cookie"].split("; ")
    assert name.startswith(f"__Host-virtshape-session-{server.port}=")
    assert set(attributes) >= {"Path=/", "Secure", "HttpOnly", "SameSite=Strict"}
    assert not any(attribute.startswith("Domain") for attribute in attributes)


def test_session_can_read_and_write_objects(browser: BrowserClient) -> None:
    assert browser.get(NODES).reason == (401, "Unauthorized")
    browser.sign_in()
    assert browser.get(NODES).status == 200
    assert browser.send("POST", CONFIG_MAPS, build_map("made")).status == 201
    assert browser.send("DELETE", f"{CONFIG_MAPS}/made").status == 200


def test_session_can_watch_objects(browser: BrowserClient) -> None:
    browser.sign_in()
    browser.send("POST", CONFIG_MAPS, build_map("watched"))
    response = browser.get(f"{CONFIG_MAPS}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name=watched")
    assert json.loads(response.body.splitlines()[0])["object"]["metadata"]["name"] == "watched"


def test_watch_ends_with_the_session(server: LoopbackServer, browser: BrowserClient) -> None:
    browser.sign_in()
    version = browser.get(CONFIG_MAPS).tree["metadata"]["resourceVersion"]
    connection = http.client.HTTPConnection(HOST, server.port, timeout=TIMEOUT)
    target = f"{CONFIG_MAPS}?watch=true&timeoutSeconds=240&resourceVersion={version}"
    connection.request("GET", target, headers={"Cookie": browser.cookie, "Sec-Fetch-Site": "same-origin"})
    watch = connection.getresponse()
    client = server.connect()
    assert client.post(CONFIG_MAPS, build_map("before")).status == 201
    assert b'"before"' in watch.readline()
    assert browser.send("DELETE", SESSION).status == 200
    assert client.post(CONFIG_MAPS, build_map("after")).status == 201
    assert watch.read() == b""
    client.close()
    connection.close()


def test_session_has_no_more_permissions_than_its_user(server: LoopbackServer, browser: BrowserClient) -> None:
    assert browser.sign_in(token=add_viewer(server)).tree["username"] == "jane"
    assert browser.get(NODES).reason == (403, "Forbidden")
    assert browser.send("POST", CONFIG_MAPS, build_map("made")).reason == (403, "Forbidden")


def test_session_can_send_large_bodies(browser: BrowserClient) -> None:
    browser.sign_in()
    large = {**build_map("large"), "data": {"text": "x" * 200_000}}
    assert browser.send("POST", CONFIG_MAPS, large).status == 201
    assert browser.send("POST", CONFIG_MAPS, large, headers={"X-CSRF-Token": None}).status == 403


def test_one_time_code_signs_in_its_user_once(server: LoopbackServer, browser: BrowserClient) -> None:
    code = issue_code(server, add_viewer(server))
    assert browser.sign_in(code=code).tree["username"] == "jane"
    with BrowserClient(server) as other:
        assert other.sign_in(code=code).reason == (401, "Unauthorized")
        assert "set-cookie" not in other.sign_in(code=code).headers


def test_session_cannot_create_one_time_codes(browser: BrowserClient) -> None:
    browser.sign_in()
    assert browser.send("POST", "/console/codes").reason == (401, "Unauthorized")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"token":""}', b'{"token":1}', b'{"token":"a","code":"b"}', b'{"user":"a"}', b'"\xff"'],
)
def test_malformed_sign_in_request_returns_400(browser: BrowserClient, body: bytes) -> None:
    response = browser.send("POST", SESSION, body)
    assert response.reason == (400, "BadRequest")
    assert "set-cookie" not in response.headers


def test_sign_in_requires_a_json_body(browser: BrowserClient) -> None:
    response = browser.send("POST", SESSION, b'{"token":"x"}', headers={"Content-Type": "text/plain"})
    assert response.reason == (415, "UnsupportedMediaType")


@pytest.mark.parametrize("token", ["wrong", "a b", "ä", "e30.e30.e30"])
def test_sign_in_with_a_wrong_token_returns_401(browser: BrowserClient, token: str) -> None:
    assert browser.sign_in(token=token).reason == (401, "Unauthorized")


def test_sign_out_ends_the_session_on_the_server(browser: BrowserClient) -> None:
    browser.sign_in()
    ended = browser.send("DELETE", SESSION)
    assert (ended.status, "Max-Age=0" in ended.headers["set-cookie"]) == (200, True)
    assert browser.get(SESSION).reason == (401, "Unauthorized")
    assert browser.get(NODES).reason == (401, "Unauthorized")


def test_signing_in_again_ends_the_earlier_session(browser: BrowserClient) -> None:
    browser.sign_in()
    earlier = browser.cookie
    browser.sign_in()
    assert browser.get(NODES).status == 200
    assert browser.get(NODES, Cookie=earlier).reason == (401, "Unauthorized")


def test_session_ends_when_its_token_is_revoked(
    server: LoopbackServer, browser: BrowserClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "CACHE_SECONDS", 0)  # disable the cache, so that the test need not wait
    browser.sign_in(token=add_viewer(server))
    remove_user(server.system.directory, "jane")
    assert browser.get(NODES).reason == (401, "Unauthorized")
    response = browser.get(SESSION)
    assert (response.reason, "Max-Age=0" in response.headers["set-cookie"]) == ((401, "Unauthorized"), True)


def test_session_expires_no_later_than_its_token(server: LoopbackServer, browser: BrowserClient) -> None:
    response = browser.sign_in(token=add_viewer(server, timedelta(minutes=1)))
    assert datetime.fromisoformat(response.tree["expires"]) < datetime.now(UTC) + timedelta(minutes=2)


def test_sessions_survive_a_restart_without_secrets_on_disk(tmp_path: Path) -> None:
    with LoopbackServer(tmp_path / "data") as server, BrowserClient(server) as browser:
        browser.sign_in()
        cookie, token = browser.cookie, server.token
        first_port = server.port
    with LoopbackServer(tmp_path / "data") as server, BrowserClient(server) as browser:
        browser.cookie = cookie.replace(str(first_port), str(server.port))
        assert browser.get(SESSION).tree["username"] == "admin"
    stored = (tmp_path / "data" / "sessions.json").read_text()
    assert token not in stored
    assert cookie.partition("=")[2] not in stored
    assert (tmp_path / "data" / "sessions.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"X-CSRF-Token": None}, id="no CSRF token"),
        pytest.param({"X-CSRF-Token": "0" * 64}, id="another CSRF token"),
        pytest.param({"X-CSRF-Token": "ä"}, id="CSRF token that is not ASCII"),
        pytest.param({"Origin": "https://evil.example"}, id="origin of another site"),
        pytest.param({"Origin": "null"}, id="opaque origin"),
        pytest.param({"Origin": f"http://{'127.0.0.1'}"}, id="origin without TLS"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="fetch from another site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, id="fetch from another port"),
        pytest.param({"Sec-Fetch-Site": "none"}, id="write from the address bar"),
        pytest.param({"Sec-Fetch-Site": None, "Origin": None}, id="unknown origin"),
    ],
)
def test_writes_from_other_sites_are_refused(browser: BrowserClient, headers: dict[str, str | None]) -> None:
    browser.sign_in()
    assert browser.send("POST", CONFIG_MAPS, build_map("forged"), headers=headers).reason == (403, "Forbidden")
    assert browser.send("DELETE", SESSION, headers=headers).reason == (403, "Forbidden")
    assert browser.get(f"{CONFIG_MAPS}/forged").status == 404


@pytest.mark.parametrize(
    ("site", "status"), [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403), (None, 403)]
)
def test_reads_from_other_sites_are_refused(browser: BrowserClient, site: str | None, status: int) -> None:
    browser.sign_in()
    headers = {"Sec-Fetch-Site": site}
    assert browser.send("GET", NODES, headers=headers).status == status
    assert browser.send("GET", SESSION, headers=headers).status == status


def test_other_sites_cannot_sign_a_browser_in(server: LoopbackServer, browser: BrowserClient) -> None:
    response = browser.send("POST", SESSION, {"token": server.token}, headers={"Origin": "https://evil.example"})
    assert (response.reason, "set-cookie" in response.headers) == ((403, "Forbidden"), False)


def test_bearer_tokens_need_no_origin_and_no_csrf_token(server: LoopbackServer, browser: BrowserClient) -> None:
    browser.sign_in()
    headers = {"Authorization": f"Bearer {server.token}", "X-CSRF-Token": None, "Sec-Fetch-Site": None, "Origin": None}
    assert browser.send("POST", CONFIG_MAPS, build_map("by-token"), headers=headers).status == 201


def test_failed_sign_ins_are_limited(server: LoopbackServer, browser: BrowserClient) -> None:
    for _ in range(MAX_FAILURES):
        assert browser.sign_in(code="guess").status == 401
    refused = browser.sign_in(code="guess")
    assert (refused.reason, int(refused.headers["retry-after"]) > 0) == ((429, "TooManyRequests"), True)
    assert browser.sign_in(code=issue_code(server)).status == 429


def test_audit_log_contains_sign_ins_without_secrets(
    server: LoopbackServer, browser: BrowserClient, tmp_path: Path
) -> None:
    token = add_viewer(server)
    code = issue_code(server, token)
    browser.sign_in(code=code)
    browser.send("DELETE", SESSION)
    browser.sign_in(code="wrong")
    text = (tmp_path / "data" / "audit.log").read_text()
    entries = [json.loads(line) for line in text.splitlines()]
    assert [(entry["user"], entry["verb"], entry["resource"], entry["code"]) for entry in entries] == [
        ("jane", "create", "consolecodes", 201),
        ("jane", "create", "consolesessions", 200),
        ("jane", "delete", "consolesessions", 200),
        ("", "create", "consolesessions", 401),
    ]
    for secret in (token, code, browser.cookie.partition("=")[2], browser.csrf_token):
        assert secret not in text

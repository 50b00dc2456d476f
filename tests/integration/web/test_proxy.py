"""`virtshape console`: the web console as a proxy of another API server."""

import asyncio
import json
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.browser import SESSION
from tests.support.consolepage import ConsolePage
from tests.support.echoguests import HELLO
from tests.support.streamsetup import StreamSetup, open_stream_setup
from tests.support.upprocess import COMMAND, TIMEOUT, System

from virtshape.api.status import StatusError
from virtshape.apiserver.auth.kubeconfig import find_token
from virtshape.apiserver.auth.users import create_user
from virtshape.client.access import Access
from virtshape.client.kubeconfig import get_access
from virtshape.client.transport import Call
from virtshape.cluster.console.local import ConsoleReady, run

GUEST_CONSOLE = "/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/web/console"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class ProxyPage(ConsolePage):
    """A page of the proxied console, and the API server that receives its requests."""

    def __init__(self, setup: StreamSetup, ready: ConsoleReady, authority: bytes) -> None:
        super().__init__(ready.url, authority)
        self.setup = setup
        self.ready = ready


@asynccontextmanager
async def serve_proxy(access: Access, directory: Path) -> AsyncIterator[ConsoleReady]:
    ready: list[ConsoleReady] = []
    serving = asyncio.create_task(run(access, "127.0.0.1", 0, directory, ready.append))
    while not ready and not serving.done():
        await asyncio.sleep(0.01)
    if serving.done():
        serving.result()
    try:
        yield ready[0]
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


@asynccontextmanager
async def open_proxy_page(folder: Path) -> AsyncIterator[ProxyPage]:
    async with open_stream_setup(folder, "web") as setup:
        access = get_access(path=str(setup.system.kubeconfig))
        async with serve_proxy(access, folder / "proxy") as ready:
            authority = (folder / "proxy" / "pki" / "ca.crt").read_bytes()
            page = ProxyPage(setup, ready, authority)
            try:
                yield page
            finally:
                await page.close()


def build_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


async def test_printed_link_signs_in_as_the_user_of_the_kubeconfig(tmp_path: Path) -> None:
    async with open_proxy_page(tmp_path) as page:
        assert page.ready.link is not None
        code = page.ready.link.removeprefix(f"{page.ready.url}/console/#code=")
        assert json.loads((await page.sign_in(code=code)).body)["username"] == "admin"
        assert (await page.call("POST", CONFIG_MAPS, build_map("made"))).status == 201
        assert json.loads((await page.call("GET", f"{CONFIG_MAPS}/made")).body)["metadata"]["name"] == "made"
        assert (await page.call("GET", "/console/")).headers["content-security-policy"]


async def test_requests_have_the_permissions_of_the_token_used_to_sign_in(tmp_path: Path) -> None:
    async with open_proxy_page(tmp_path) as page:
        system = page.setup.system
        made = create_user(system.system.directory, system.url, "jane", by="token")
        reply = await page.sign_in(token=find_token(made.kubeconfig) or "")
        assert json.loads(reply.body)["username"] == "jane"
        assert (await page.call("GET", CONFIG_MAPS)).status == 403
        as_admin = {"impersonate-user": "admin", "authorization": f"Bearer {find_token(system.kubeconfig.read_text())}"}
        assert (await page.call("GET", CONFIG_MAPS, **as_admin)).status == 403, "only the session counts"


async def test_requests_without_a_session_or_from_another_site_are_refused(tmp_path: Path) -> None:
    async with open_proxy_page(tmp_path) as page:
        assert (await page.call("GET", CONFIG_MAPS)).status == 401
        assert (await page.sign_in(token="wrong")).status == 401  # noqa: S106 - a token of tests
        await page.sign_in(token=find_token(page.setup.system.kubeconfig.read_text()) or "")
        assert (await page.call("POST", CONFIG_MAPS, build_map("x"), **{"x-csrf-token": ""})).status == 403
        assert (await page.call("GET", CONFIG_MAPS, origin="https://evil.example")).status == 403
        for path in ("/metrics", "/readyz", "/logs", "/console/../metrics"):
            assert (await page.call("GET", path)).status in (200, 404)
        assert b"virtshape_task_up" not in (await page.call("GET", "/metrics")).body
        assert (await page.call("DELETE", SESSION)).status == 200
        assert (await page.call("GET", CONFIG_MAPS)).status == 401


async def test_forwarded_watch_ends_with_the_session(tmp_path: Path) -> None:
    async with open_proxy_page(tmp_path) as page:
        await page.sign_in(token=find_token(page.setup.system.kubeconfig.read_text()) or "")
        call = Call("GET", f"{CONFIG_MAPS}?watch=true&timeoutSeconds=240&resourceVersion=0", page.headers)
        async with page.transport.stream(call) as lines:
            await page.call("POST", CONFIG_MAPS, build_map("before"))
            seen = b""
            while b'"before"' not in seen:
                seen = await anext(lines)
            await page.call("DELETE", SESSION)
            await page.setup.system.client.request("POST", CONFIG_MAPS, json.dumps(build_map("after")).encode())
            assert [line async for line in lines] == []


async def test_watch_errors_are_forwarded(tmp_path: Path) -> None:
    async with open_proxy_page(tmp_path) as page:
        await page.sign_in(token=find_token(page.setup.system.kubeconfig.read_text()) or "")
        target = f"{CONFIG_MAPS}?watch=true&fieldSelector=spec.absent=x"
        direct = await page.setup.transport.call(Call("GET", target))
        reply = await page.call("GET", target)
        assert (reply.status, json.loads(reply.body)) == (400, json.loads(direct.body))


async def test_serial_console_of_a_guest_is_forwarded(tmp_path: Path) -> None:
    async with open_proxy_page(tmp_path) as page:
        await page.sign_in(token=find_token(page.setup.system.kubeconfig.read_text()) or "")
        socket = await page.open_socket(GUEST_CONSOLE)
        assert await socket.read() == HELLO
        await socket.write(b"root\r")
        assert await socket.read() == b"root\r"
        await socket.close()
        with pytest.raises(StatusError) as refused:
            await page.open_socket(GUEST_CONSOLE, origin="https://evil.example")
        assert refused.value.code == 403


async def test_error_for_an_unreachable_api_server_does_not_contain_its_address(tmp_path: Path) -> None:
    async with open_stream_setup(tmp_path, "web") as setup:
        access = replace(get_access(path=str(setup.system.kubeconfig)), server="https://127.0.0.1:1")
        with pytest.raises(StatusError, match=r"^the API server of the cluster is not available$") as refused:
            async with serve_proxy(access, tmp_path / "proxy"):
                pass
        assert refused.value.code == 503


def test_virtshape_console_prints_a_link_and_stops_on_a_signal(tmp_path: Path) -> None:
    with System(tmp_path / "data", "--no-controllers", "--no-catalog") as system:
        arguments: list[str | Path] = [
            "console",
            "--kubeconfig",
            system.kubeconfig,
            "--listen",
            "127.0.0.1:0",
            "--data-dir",
            tmp_path,
        ]
        log = tmp_path / "console.log"
        with (
            log.open("wb") as errors,
            subprocess.Popen([COMMAND, *arguments], stdout=subprocess.PIPE, stderr=errors, text=True) as process,
        ):
            assert process.stdout is not None
            assert process.stdout.readline() == (
                "The web console is ready; this link works once, within five minutes:\n"
            ), log.read_text()
            process.stdout.readline()
            link = process.stdout.readline().strip()
            assert re.fullmatch(r"https://127\.0\.0\.1:\d+/console/#code=[\w-]{43}", link)
            process.terminate()
            assert process.wait(TIMEOUT) == 0
        assert link.partition("=")[2] not in log.read_text()

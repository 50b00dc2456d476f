"""The web console on a real API server: sessions with service account tokens, their permissions, and guest streams."""

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.components.installation import SYSTEM, ComponentProcess, Installation
from tests.cluster.components.test_aggregated import open_guest
from tests.support.browser import SESSION
from tests.support.consolepage import ConsolePage
from tests.support.kubectl import Kubectl

from virtshape.api.status import StatusError
from virtshape.client.kubeconfig import get_access
from virtshape.cluster.console.local import ConsoleReady, run

pytestmark = pytest.mark.usefixtures("aggregated", "webhook")


@pytest.fixture
async def page(installation: Installation, console: str) -> AsyncIterator[ConsolePage]:
    """A page of the console that trusts the certificate authority in the console's TLS Secret."""
    secret = installation.kubectl.in_namespace(SYSTEM).get("secret", "virtshape-console-tls")
    opened = ConsolePage(console, b64decode(secret["data"]["ca.crt"]))
    yield opened
    await opened.close()


def create_token(kubectl: Kubectl, name: str, *, duration: str = "1h") -> str:
    """Return the token of a new service account that has the role of the same name."""
    kubectl("create", "serviceaccount", name)
    kubectl("create", "rolebinding", name, f"--clusterrole={name}", f"--serviceaccount={kubectl.namespace}:{name}")
    return kubectl("create", "token", name, f"--duration={duration}").strip()


def build_vm(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {
            "runStrategy": "Halted",
            "instancetype": {"name": "u1.small"},
            "template": {"spec": {"domain": {"devices": {}}}},
        },
    }


async def test_viewer_lists_and_previews_vms_but_may_not_create_them(page: ConsolePage, kubectl: Kubectl) -> None:
    kubectl.apply(build_vm("vm1"))
    session = json.loads((await page.sign_in(token=create_token(kubectl, "view"))).body)
    assert session["username"] == f"system:serviceaccount:{kubectl.namespace}:view"
    vms = f"/apis/kubevirt.io/v1/namespaces/{kubectl.namespace}/virtualmachines"
    for _ in range(2400):  # the authorizer of the API server may not know the new binding yet
        listed = await page.call("GET", vms)
        if listed.status != 403:
            break
        await asyncio.sleep(0.1)
    assert [vm["metadata"]["name"] for vm in json.loads(listed.body)["items"]] == ["vm1"]
    previews = f"/apis/subresources.kubevirt.io/v1/namespaces/{kubectl.namespace}"
    explained = await page.call("PUT", f"{previews}/explain-vm-spec", build_vm("vm2"))
    assert (explained.status, json.loads(explained.body)["problems"]) == (200, [])
    pair = {"instancetypes": [{"name": "u1.small"}], "preferences": [{"name": "fedora"}]}
    checked = await page.call("PUT", f"{previews}/check-compatibility", pair)
    assert [item["compatible"] for item in json.loads(checked.body)["items"]] == [True]
    assert (await page.call("POST", vms, build_vm("vm2"))).status == 403
    assert (await page.call("PUT", f"{previews}/virtualmachines/vm1/start", {})).status == 403
    assert (await page.call("GET", f"/api/v1/namespaces/{SYSTEM}/secrets/virtshape-console-tls")).status == 403


async def test_requests_without_a_session_do_not_use_the_account_of_the_console(page: ConsolePage) -> None:
    own = f"/api/v1/namespaces/{SYSTEM}/secrets/virtshape-console-tls"
    assert (await page.call("GET", own)).status == 401
    assert (await page.sign_in(token="wrong")).status == 401  # noqa: S106 - a token of tests
    assert (await page.call("GET", own)).status == 401


async def test_sign_out_ends_the_session_on_the_server(page: ConsolePage, kubectl: Kubectl) -> None:
    await page.sign_in(token=create_token(kubectl, "view"))
    assert (await page.call("GET", "/version")).status == 200
    assert (await page.call("DELETE", SESSION)).status == 200
    assert (await page.call("GET", "/version")).status == 401, "the page still sends the cookie"
    assert (await page.call("GET", SESSION)).status == 401


async def test_session_is_valid_until_its_token_expires_or_is_revoked(page: ConsolePage, kubectl: Kubectl) -> None:
    session = json.loads((await page.sign_in(token=create_token(kubectl, "view", duration="20m"))).body)
    assert datetime.fromisoformat(session["expires"]) < datetime.now(UTC) + timedelta(minutes=20)
    kubectl("delete", "serviceaccount", "view")
    for _ in range(2400):  # the API server caches tokens for some seconds
        if (await page.call("GET", SESSION)).status == 401:
            break
        await asyncio.sleep(0.1)
    else:
        pytest.fail("the session did not end with its token")
    assert (await page.call("GET", "/version")).status == 401


@pytest.mark.parametrize("stream", ["console", "vnc"])
async def test_editor_but_not_viewer_may_open_a_guest_stream(
    page: ConsolePage, kubectl: Kubectl, installation: Installation, controller: ComponentProcess, stream: str
) -> None:
    del controller
    target = f"/apis/subresources.kubevirt.io/v1/namespaces/{kubectl.namespace}/virtualmachineinstances/vm1/{stream}"
    editor, viewer = create_token(kubectl, "edit"), create_token(kubectl, "view")
    async with open_guest(installation, kubectl.namespace):
        await page.sign_in(token=editor)
        socket = await page.open_socket(target)
        assert await socket.read() == b"login: "
        await socket.write(b"root\n")
        assert await socket.read() == b"ROOT\n"
        await socket.close()
        await page.sign_in(token=viewer)
        with pytest.raises(StatusError) as refused:
            await page.open_socket(target)
        assert refused.value.code == 403


async def test_local_console_has_no_sign_in_link_for_a_client_certificate(
    installation: Installation, tmp_path: Path
) -> None:
    access = get_access(path=str(installation.plane.kubeconfig))
    ready: asyncio.Queue[ConsoleReady] = asyncio.Queue()
    serving = asyncio.create_task(run(access, "127.0.0.1", 0, tmp_path, ready.put_nowait))
    assert (await ready.get()).link is None, "a session cannot use the certificate"
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)

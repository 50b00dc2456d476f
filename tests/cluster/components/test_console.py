"""The web console as a proxy of a real API server, signed in with a service account token."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.cluster.components.installation import Installation
from tests.support.kubectl import Kubectl

from virtshape.client.access import Access
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
from virtshape.client.transport import Call, Reply
from virtshape.cluster.console import ConsoleReady, run

pytestmark = pytest.mark.usefixtures("aggregated", "webhook")


async def test_viewer_can_preview_a_vm_but_not_create_it(
    installation: Installation, kubectl: Kubectl, tmp_path: Path
) -> None:
    kubectl("create", "serviceaccount", "viewer")
    kubectl("create", "rolebinding", "viewer", "--clusterrole=view", f"--serviceaccount={kubectl.namespace}:viewer")
    token = kubectl("create", "token", "viewer").strip()
    ready: list[ConsoleReady] = []
    access = get_access(path=str(installation.plane.kubeconfig))
    serving = asyncio.create_task(run(access, "127.0.0.1", 0, tmp_path, ready.append))
    while not ready and not serving.done():
        await asyncio.sleep(0.01)
    (address,) = ready
    assert address.link is None, "the kubeconfig has a certificate, which a session cannot use"
    transport = HttpTransport(Access(address.url, authority=(tmp_path / "pki" / "ca.crt").read_bytes()))
    headers = {"origin": address.url, "content-type": "application/json"}

    async def call(method: str, target: str, tree: object) -> Reply:
        return await transport.call(Call(method, target, headers, json.dumps(tree).encode()))

    session = await call("POST", "/console/session", {"token": token})
    assert json.loads(session.body)["username"] == f"system:serviceaccount:{kubectl.namespace}:viewer"
    headers["cookie"] = session.headers["set-cookie"].partition(";")[0]
    headers["x-csrf-token"] = json.loads(session.body)["csrfToken"]
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "vm1"},
        "spec": {
            "runStrategy": "Halted",
            "instancetype": {"name": "u1.small"},
            "template": {"spec": {"domain": {"devices": {}}}},
        },
    }
    path = f"namespaces/{kubectl.namespace}"
    explained = await call("PUT", f"/apis/subresources.kubevirt.io/v1/{path}/explain-vm-spec", vm)
    assert (explained.status, json.loads(explained.body)["problems"]) == (200, [])
    assert (await call("POST", f"/apis/kubevirt.io/v1/{path}/virtualmachines", vm)).status == 403
    kubectl("delete", "serviceaccount", "viewer")
    for _ in range(600):  # the API server caches tokens for some seconds
        if (await transport.call(Call("GET", f"/apis/kubevirt.io/v1/{path}/virtualmachines", headers))).status == 401:
            break
        await asyncio.sleep(0.1)
    else:
        pytest.fail("the session did not end with its token")
    await transport.close()
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)

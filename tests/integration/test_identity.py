"""Authentication with kubeconfigs over TLS."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.systems import RunningSystem, serve_system

from virtshape.api.authentication import SelfSubjectReview, UserInfo
from virtshape.api.core.config import ConfigMap
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.api.yaml import read_documents, write_yaml
from virtshape.apiserver.auth import authentication
from virtshape.apiserver.auth.users import create_user, remove_user
from virtshape.client.access import Access, Impersonation
from virtshape.client.errors import UnreachableError
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
from virtshape.client.rest import RestClient
from virtshape.client.transport import Call

EVERYONE = "system:authenticated"


async def get_user(access: Access) -> UserInfo:
    """Return the user that the server authenticates."""
    client = RestClient(HttpTransport(access))
    question = SelfSubjectReview(
        api_version="authentication.k8s.io/v1", kind="SelfSubjectReview", metadata=ObjectMeta()
    )
    try:
        answered = await client.create(question)
    finally:
        await client.close()
    assert answered.status is not None
    assert answered.status.user_info is not None
    return answered.status.user_info


def add_user(system: RunningSystem, directory: Path, **options: Any) -> Access:
    path = directory / "bob.kubeconfig"
    path.write_text(create_user(system.system.directory, system.url, "bob", **options).kubeconfig)
    return get_access(path=str(path))


async def test_admin_of_a_data_directory_is_in_system_masters(tmp_path: Path) -> None:
    async with serve_system(tmp_path) as system:
        user = await get_user(get_access(path=str(system.kubeconfig)))
        assert user == UserInfo(username="admin", uid=user.uid, groups=["system:masters", EVERYONE])
        assert user.uid


@pytest.mark.parametrize("by", ["certificate", "token"])
async def test_user_is_authenticated_until_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    monkeypatch.setattr(authentication, "CACHE_SECONDS", 0)  # disable the cache, so that the test need not wait

    async with serve_system(tmp_path / "data") as system:
        access = add_user(system, tmp_path, by=by, groups=["dev"])
        user = await get_user(access)
        assert user == UserInfo(username="bob", uid=user.uid, groups=["dev", EVERYONE])
        assert bool(user.uid) is (by == "token")
        client = RestClient(HttpTransport(access))
        with pytest.raises(StatusError) as caught:
            await client.list(ConfigMap, "default")
        assert caught.value.code == 403
        remove_user(system.system.directory, "bob")
        with pytest.raises(StatusError) as caught:
            await client.list(ConfigMap, "default")
        assert caught.value.code == 401
        await client.close()


async def test_several_impersonated_groups_are_all_applied(tmp_path: Path) -> None:
    async with serve_system(tmp_path) as system:
        admin = get_access(path=str(system.kubeconfig))
        acting_as = Impersonation("eve, the second", "u1", ["a, b", "c"], {"scope": ["x, y", "z"]})
        user = await get_user(replace(admin, acting_as=acting_as))
        assert user == UserInfo(
            username="eve, the second",
            uid="u1",
            groups=["a, b", "c", EVERYONE],
            extra={"scope": ["x, y", "z"]},
        )


async def test_token_of_an_exec_plugin_is_used(tmp_path: Path) -> None:
    async with serve_system(tmp_path / "data") as system:
        tree = read_documents(system.kubeconfig.read_text())[0].tree
        token = tree["users"][0]["user"].pop("token")
        version = "client.authentication.k8s.io/v1"
        printed = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": {"token": token}})
        tree["users"][0]["user"]["exec"] = {"apiVersion": version, "command": "echo", "args": [printed]}
        path = tmp_path / "exec.kubeconfig"
        path.write_text(write_yaml(tree))
        assert (await get_user(get_access(path=str(path)))).username == "admin"


async def test_server_certificate_of_another_ca_is_not_trusted(tmp_path: Path) -> None:
    async with serve_system(tmp_path / "one") as one, serve_system(tmp_path / "two") as two:
        access = get_access(path=str(one.kubeconfig))
        wrong = replace(access, server=two.url)
        with pytest.raises(UnreachableError, match="certificate verify failed"):
            await get_user(wrong)
        with pytest.raises(StatusError) as caught:
            await get_user(replace(wrong, insecure=True))
        assert caught.value.code == 401


async def test_client_certificate_of_another_ca_is_rejected(tmp_path: Path) -> None:
    async with serve_system(tmp_path / "one") as one, serve_system(tmp_path / "two") as two:
        stranger = add_user(one, tmp_path)
        with pytest.raises(UnreachableError):
            await get_user(replace(stranger, server=two.url, insecure=True))


async def test_tls_requests_reuse_connections(tmp_path: Path) -> None:
    async with serve_system(tmp_path) as system:
        transport = HttpTransport(get_access(path=str(system.kubeconfig)))
        before = len(system.connections)
        for _ in range(20):
            assert (await transport.call(Call("GET", "/version"))).status == 200
        assert len(system.connections) - before == 1
        await asyncio.gather(*(transport.call(Call("GET", "/version")) for _ in range(100)))
        assert len(system.connections) - before <= 32
        await transport.close()


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), (None, 200)]
)
async def test_other_sites_cannot_use_the_certificate_of_a_browser(
    tmp_path: Path, site: str | None, status: int
) -> None:
    async with serve_system(tmp_path) as system:
        transport = HttpTransport(add_user(system, tmp_path, by="certificate"))
        headers = {} if site is None else {"sec-fetch-site": site}
        for method, target in (("GET", "/api"), ("POST", "/console/codes")):
            reply = await transport.call(Call(method, target, headers))
            assert (reply.status == 403) == (status == 403), target
        await transport.close()

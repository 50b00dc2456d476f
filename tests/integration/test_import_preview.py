"""preview-import: a client plans an import with the API, and writes the objects with its own permissions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import call_virtshape
from tests.support.kubevirtdump import DUMP, SIZE_REVISION
from tests.support.loopback import Client, LoopbackServer

from virtshape.api.model import JsonObject
from virtshape.apiserver.auth.kubeconfig import find_token
from virtshape.apiserver.auth.users import create_user
from virtshape.apiserver.limits import MAX_BODY_BYTES

PREVIEW = "/apis/subresources.kubevirt.io/v1/namespaces/default/preview-import"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "data" / "kubeconfig"))
    with LoopbackServer(tmp_path / "data") as running:
        yield running


@pytest.fixture
def client(server: LoopbackServer) -> Iterator[Client]:
    client = server.connect()
    yield client
    client.close()


def preview(client: Client, text: str = DUMP, **options: Any) -> list[JsonObject]:
    response = client.put(PREVIEW, {"files": [{"name": "dump.yaml", "text": text}], **options})
    assert response.status == 200, response.body
    assert response.tree["problems"] == []
    items: list[JsonObject] = response.tree["items"]
    return items


def path_of(item: JsonObject) -> str:
    """Return the path of the collection of a planned object."""
    version = item["apiVersion"]
    scope = f"/namespaces/{item['namespace']}" if "namespace" in item else ""
    return f"/{'apis' if '/' in version else 'api'}/{version}{scope}/{item['resource']}"


def run_import(client: Client, text: str = DUMP) -> list[JsonObject]:
    """Import as the web console does: create what is missing, then set the owners; return the stored objects."""
    stored = []
    for item in preview(client, text):
        if item["result"] == "create":
            created = client.post(path_of(item), json.loads(item["body"]))
            assert created.status == 201, created.body
            stored.append(created.tree)
    for item in preview(client, text, existing=stored):
        if "owners" in item:
            patched = client.patch(f"{path_of(item)}/{item['name']}", json.loads(item["owners"]))
            assert patched.status == 200, patched.body
    return stored


def test_objects_of_a_preview_can_be_written_and_are_then_unchanged(client: Client) -> None:
    run_import(client)
    vm = client.get("/apis/kubevirt.io/v1/namespaces/shop/virtualmachines/web").tree
    revision = client.get(f"/apis/apps/v1/namespaces/shop/controllerrevisions/{SIZE_REVISION}").tree
    assert [owner["uid"] for owner in revision["metadata"]["ownerReferences"]] == [vm["metadata"]["uid"]]
    stored = [
        client.get(f"{path_of(item)}/{item['name']}").tree for item in preview(client) if item["result"] == "create"
    ]
    again = preview(client, existing=stored)
    assert {item["result"] for item in again} == {"unchanged", "skipped"}
    assert not any("owners" in item for item in again)


def test_import_after_writing_a_preview_reports_all_objects_as_unchanged(client: Client, tmp_path: Path) -> None:
    run_import(client)
    dump = tmp_path / "dump.yaml"
    dump.write_text(DUMP)
    result = call_virtshape("import", str(dump))
    assert result.status == 0, result.err
    assert "6 unchanged, 5 skipped" in result.err


def test_preview_of_an_import_stores_nothing(client: Client) -> None:
    preview(client)
    assert client.get("/api/v1/namespaces/shop").status == 404


def test_problems_of_a_file_are_returned(client: Client) -> None:
    text = DUMP.replace("runStrategy: Always", "runStrategy: 3", 1)
    response = client.put(PREVIEW, {"files": [{"name": "dump.yaml", "text": text}]})
    places = {(problem["file"], problem["line"]) for problem in response.tree["problems"]}
    assert ("dump.yaml", DUMP.splitlines().index("    runStrategy: Always") + 1) in places
    assert response.tree["items"] == []


def test_viewer_may_preview_an_import_but_not_write_it(server: LoopbackServer, client: Client) -> None:
    made = create_user(server.system.directory, server.url, "viewer", by="token")
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "viewer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer"}],
    }
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
    assert client.post(path, binding).status == 201
    viewer = Client(server.port, find_token(made.kubeconfig) or "")
    item = preview(viewer)[0]
    assert viewer.post(path_of(item), json.loads(item["body"])).status == 403
    viewer.close()


def test_preview_of_a_body_above_the_limit_is_rejected(client: Client) -> None:
    response = client.put(PREVIEW, {"files": [{"name": "dump.yaml", "text": "#" * MAX_BODY_BYTES}]})
    assert response.status == 413


def test_preview_request_with_an_unknown_field_is_rejected(client: Client) -> None:
    response = client.put(PREVIEW, {"files": [], "overwrite": True})
    assert response.status == 400
    assert "overwrite" in response.tree["message"]

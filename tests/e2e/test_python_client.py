"""The official Python client of Kubernetes: typed calls, custom objects, watches, and the dynamic client."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException
from tests.support.smallmanifests import build_config_map, build_instancetype, build_vm
from tests.support.upprocess import System

VIRTUAL_MACHINES = ("kubevirt.io", "v1")
APPLY = "application/apply-patch+yaml"


@pytest.fixture
def api(system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The client with admin credentials."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # the client caches discovery in a file there
    connected = config.new_client_from_config(str(system.kubeconfig))  # type: ignore[no-untyped-call]  # it has no types
    yield connected
    connected.close()


def test_python_client_manages_typed_objects(api: Any, namespace: str) -> None:
    core: Any = client.CoreV1Api(api)
    made = core.create_namespaced_config_map(namespace, {"metadata": {"name": "c"}, "data": {"a": "1"}})
    assert made.metadata.uid
    core.patch_namespaced_config_map("c", namespace, {"data": {"b": "2"}})
    found = core.read_namespaced_config_map("c", namespace)
    assert found.data == {"a": "1", "b": "2"}
    found.data = {"c": "3"}
    core.replace_namespaced_config_map("c", namespace, found)
    with pytest.raises(ApiException) as stale:
        core.replace_namespaced_config_map("c", namespace, found)
    assert stale.value.status == 409
    assert [item.data for item in core.list_namespaced_config_map(namespace).items] == [{"c": "3"}]
    core.delete_namespaced_config_map("c", namespace)
    with pytest.raises(ApiException) as gone:
        core.read_namespaced_config_map("c", namespace)
    assert gone.value.reason == "Not Found"


def test_python_client_lists_in_pages(api: Any, namespace: str) -> None:
    core: Any = client.CoreV1Api(api)
    for number in range(5):
        core.create_namespaced_config_map(namespace, build_config_map(f"c{number}"))
    page = core.list_namespaced_config_map(namespace, limit=2)
    names = [item.metadata.name for item in page.items]
    assert page.metadata.remaining_item_count == 3
    while page.metadata._continue:  # noqa: SLF001 - the client's name for it
        page = core.list_namespaced_config_map(namespace, limit=2, _continue=page.metadata._continue)  # noqa: SLF001 - as above
        names += [item.metadata.name for item in page.items]
    assert names == [f"c{number}" for number in range(5)]


def test_python_client_manages_vms_as_custom_objects(api: Any, namespace: str) -> None:
    custom: Any = client.CustomObjectsApi(api)
    where = (*VIRTUAL_MACHINES, namespace, "virtualmachines")
    made = custom.create_namespaced_custom_object(*where, build_vm())
    assert made["metadata"]["generation"] == 1
    custom.patch_namespaced_custom_object(*where, "web", {"spec": {"runStrategy": "Always"}})
    found = custom.get_namespaced_custom_object(*where, "web")
    assert found["spec"]["runStrategy"] == "Always"
    custom.patch_namespaced_custom_object_status(*where, "web", {"status": {"ready": True}})
    assert custom.get_namespaced_custom_object_status(*where, "web")["status"]["ready"] is True
    listed = custom.list_namespaced_custom_object(*where, label_selector="app=web")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["web"]
    with pytest.raises(ApiException) as twice:
        custom.create_namespaced_custom_object(*where, build_vm())
    assert twice.value.status == 409
    custom.delete_namespaced_custom_object(*where, "web")


def test_python_client_resumes_a_watch(api: Any, namespace: str) -> None:
    core: Any = client.CoreV1Api(api)
    version = core.list_namespaced_config_map(namespace).metadata.resource_version

    def write() -> None:
        for number in range(20):
            core.create_namespaced_config_map(namespace, build_config_map(f"c{number}"))

    writing = threading.Thread(target=write)
    writing.start()
    watching: Any = watch.Watch()  # type: ignore[no-untyped-call]  # it has no types
    seen: list[tuple[str, str]] = []
    while len(seen) < 20:  # each watch ends after a second and resumes from the last event
        for event in watching.stream(
            core.list_namespaced_config_map,
            namespace,
            resource_version=version,
            timeout_seconds=1,
            allow_watch_bookmarks=True,
        ):
            version = event["object"].metadata.resource_version
            if event["type"] != "BOOKMARK":
                seen.append((event["type"], event["object"].metadata.name))
    writing.join()
    assert seen == [("ADDED", f"c{number}") for number in range(20)]


def test_dynamic_client_discovers_kinds_and_applies(api: Any, namespace: str) -> None:
    resources = dynamic.DynamicClient(api).resources  # type: ignore[no-untyped-call]  # it has no types
    machines = resources.get(api_version="kubevirt.io/v1", kind="VirtualMachine")
    sizes = resources.get(api_version="instancetype.kubevirt.io/v1beta1", singular_name="virtualmachineinstancetype")
    machines.create(body=build_vm(), namespace=namespace)
    machine = machines.get(name="web", namespace=namespace)
    assert machine.spec.instancetype.name == "u1.medium"
    patch = {"spec": {"runStrategy": "Always"}}
    machines.patch(body=patch, name="web", namespace=namespace, content_type="application/merge-patch+json")
    size = build_instancetype(version="v1beta1")
    applied = sizes.server_side_apply(body=size, name="small", namespace=namespace, field_manager="test")
    assert applied.metadata.managedFields[0].manager == "test"
    assert [item.metadata.name for item in sizes.get(namespace=namespace).items] == ["small"]
    events = machines.watch(namespace=namespace, timeout=1)
    assert [(event["type"], event["object"].spec.runStrategy) for event in events] == [("ADDED", "Always")]
    machines.delete(name="web", namespace=namespace)
    with pytest.raises(dynamic.exceptions.NotFoundError):
        machines.get(name="web", namespace=namespace)


def test_python_client_reads_versions_and_permissions(api: Any, namespace: str) -> None:
    assert client.VersionApi(api).get_code().major == "1"
    attributes = {"verb": "create", "group": "kubevirt.io", "resource": "virtualmachines", "namespace": namespace}
    authorization: Any = client.AuthorizationV1Api(api)
    review = authorization.create_self_subject_access_review({"spec": {"resourceAttributes": attributes}})
    assert review.status.allowed is True

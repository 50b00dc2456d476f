"""Our CRDs on a real API server: schemas, names, columns and `kubectl explain`."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.cluster.install import apply_kinds, retry
from tests.support.build import build_vm
from tests.support.controlplane import ControlPlane
from tests.support.kubectl import Kubectl

from virtshape.api.codec import to_tree
from virtshape.api.kinds import KINDS, Kind, is_custom_resource
from virtshape.api.schema import structural_schema
from virtshape.api.yaml import write_yaml
from virtshape.apiserver.encoding.columns import list_columns
from virtshape.apiserver.supportedverbs import find_deprecation

OURS = [kind for kind in KINDS if is_custom_resource(kind) and kind.group != "snapshot.storage.k8s.io"]
PREFERRED = {(kind.group, kind.plural): kind for kind in reversed(OURS)}.values()
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
INSTANCETYPE: dict[str, Any] = {
    "apiVersion": "instancetype.kubevirt.io/v1beta2",
    "kind": "VirtualMachineInstancetype",
    "metadata": {"name": "small"},
    "spec": {"cpu": {"topology": {"sockets": 1, "cores": 2, "threads": 2}}, "memory": {"guest": "2Gi"}},
}


def name_of(kind: Kind) -> str:
    return f"{kind.api_version}/{kind.plural}"


@pytest.fixture(scope="module")
def kinds(cluster: Kubectl) -> Kubectl:
    apply_kinds(cluster)
    return cluster


def walk(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the schema of each field below a schema."""
    for name, nested in (schema.get("properties") or {}).items():
        yield f"{path}.{name}", nested
        yield from walk(nested, f"{path}.{name}")
    for below in ("items", "additionalProperties"):
        if isinstance(schema.get(below), dict):
            yield from walk(schema[below], f"{path}[]")


def find_published(plane: ControlPlane, kind: Kind) -> Any:
    """Return the published schema of a kind; it is published shortly after the kind is served."""
    code, document = plane.request("GET", f"/openapi/v3/apis/{kind.api_version}")
    assert code == 200, document
    published = [
        schema
        for schema in document["components"]["schemas"].values()
        if any(each["kind"] == kind.kind for each in schema.get("x-kubernetes-group-version-kind", ()))
    ]
    assert published, kind
    return published[0]


def test_every_crd_is_established_and_structural(kinds: Kubectl) -> None:
    definitions = [tree for tree in kinds.get("crds")["items"] if tree["spec"]["group"].endswith("kubevirt.io")]
    assert {tree["metadata"]["name"] for tree in definitions} == {f"{kind.plural}.{kind.group}" for kind in OURS}
    for tree in definitions:
        conditions = {each["type"]: each["status"] for each in tree["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}, tree["metadata"]["name"]


@pytest.mark.parametrize("kind", OURS, ids=name_of)
def test_kubectl_explain_describes_every_field(kinds: Kubectl, plane: ControlPlane, kind: Kind) -> None:
    fields = dict(walk(retry(lambda: find_published(plane, kind))))
    wanted = {path for path, _ in walk(structural_schema(kind.struct))}
    assert wanted <= fields.keys()
    assert [path for path, field in fields.items() if not field.get("description")] == []
    shown = kinds("explain", kind.plural, "--api-version", kind.api_version)
    assert f"KIND:       {kind.kind}" in shown
    assert "<no description>" not in shown


@pytest.mark.parametrize("kind", PREFERRED, ids=name_of)
def test_kubectl_accepts_every_name_of_a_kind(kinds: Kubectl, kind: Kind) -> None:
    for name in (kind.plural, kind.singular, *kind.short_names):
        ran = kinds.run("get", name, "--all-namespaces" if kind.namespaced else "-o=name")
        assert (ran.status, ran.err.replace("No resources found\n", "")) == (0, "")


@pytest.mark.parametrize("kind", OURS, ids=name_of)
def test_table_columns_match_the_standalone_server(kinds: Kubectl, plane: ControlPlane, kind: Kind) -> None:
    del kinds

    def read() -> Any:  # objects of a new or changed kind are not served at once
        code, table = plane.request("GET", f"/apis/{kind.api_version}/{kind.plural}", Accept=TABLE)
        assert code == 200, table
        return table

    shown = [(each["name"], each["priority"]) for each in retry(read)["columnDefinitions"]]
    assert shown == [(column.name, column.priority) for column in list_columns(kind)]


def test_instancetype_columns_show_vcpus_and_memory(kinds: Kubectl, namespace: str) -> None:
    kubectl = kinds.in_namespace(namespace)
    kubectl.apply(INSTANCETYPE)
    head, row = kubectl("get", "vmf").splitlines()
    assert head.split() == ["NAME", "VCPU", "MEMORY", "TOPOLOGY", "DEDICATED", "AGE"]
    assert "2Gi" in row


def test_vm_status_is_a_subresource(kinds: Kubectl, namespace: str) -> None:
    kubectl = kinds.in_namespace(namespace)
    kubectl.apply(to_tree(build_vm(name="vm1", namespace=namespace, memory="1Gi")))
    patch = '{"status": {"printableStatus": "Running"}, "spec": {"runStrategy": "Halted"}}'
    kubectl("patch", "vm", "vm1", "--subresource=status", "--type=merge", "-p", patch)
    vm = kubectl.get("vm", "vm1")
    assert (vm["spec"]["runStrategy"], vm["status"]) == ("Always", {"printableStatus": "Running"})
    assert "Running" in kubectl("get", "vm", "vm1")


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "unknown field": ({"cpus": 1}, 'unknown field "spec.cpus"'),
    "wrong type": ({"cpu": {"guest": "two"}}, "spec.cpu.guest"),
    "invalid quantity": ({"memory": {"guest": "much"}}, "spec.memory.guest"),
    "mutually exclusive fields": ({"cpu": {"guest": 4, "topology": {"cores": 4}}}, "are mutually exclusive"),
}


@pytest.mark.parametrize(("change", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_api_server_reports_schema_errors(kinds: Kubectl, namespace: str, change: dict[str, Any], message: str) -> None:
    tree = {**INSTANCETYPE, "spec": {**INSTANCETYPE["spec"], **change}}
    assert message in kinds.in_namespace(namespace).run_rejected("apply", "-f", "-", stdin=write_yaml(tree))


DEPRECATED = {kind.api_version: (kind, find_deprecation(kind) or "") for kind in OURS if find_deprecation(kind)}


@pytest.mark.parametrize(("kind", "warning"), DEPRECATED.values(), ids=DEPRECATED.keys())
def test_deprecated_version_causes_a_warning(kinds: Kubectl, kind: Kind, warning: str) -> None:
    assert warning in kinds.run("get", "--raw", f"/apis/{kind.api_version}/{kind.plural}?limit=1").err

"""Source namespaces of cloned volumes."""

import pytest
from tests.support.build import build_vm
from tests.support.storageobjects import build_data_volume

from virtshape.admission.clonesources import (
    CloneSources,
    find_clone_request,
    find_service_account,
    list_foreign_targets,
    search_clone_sources,
    search_foreign_origins,
)
from virtshape.admission.submission import Submission
from virtshape.api.cdi import DataSource, DataSourceSource
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kinds import find_kind
from virtshape.api.model import JsonObject, Model
from virtshape.resolve.reference import Reference
from virtshape.resolve.search import run_search

SOURCES = {
    "default/near": {"pvc": {"name": "a", "namespace": "default"}},
    "default/far": {"pvc": {"name": "a", "namespace": "images"}},
    "images/own": {"snapshot": {"name": "a", "namespace": "images"}},
    "default/alias": {"dataSource": {"name": "own", "namespace": "images"}},
    "default/loop": {"dataSource": {"name": "loop", "namespace": "default"}},
}


def find(reference: Reference) -> Model | None:
    source = SOURCES.get(f"{reference.namespace}/{reference.name}")
    if source is None:
        return None
    tree = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource", "metadata": {}, "spec": {"source": source}}
    return from_tree(tree, DataSource)


def refer(name: str, namespace: str | None = None) -> JsonObject:
    return {"sourceRef": {"kind": "DataSource", "name": name, "namespace": namespace}}


SPECS: list[tuple[JsonObject, set[str]]] = [
    ({"source": {"blank": {}}}, set()),
    ({"source": {"pvc": {"name": "a", "namespace": "default"}}}, set()),
    ({"source": {"pvc": {"name": "a", "namespace": "images"}}}, {"images"}),
    ({"source": {"snapshot": {"name": "a", "namespace": "images"}}}, {"images"}),
    (refer("near"), set()),
    (refer("far"), {"images"}),
    (refer("own", "images"), {"images"}),
    (refer("alias"), {"images"}),
    (refer("loop"), set()),
    (refer("missing"), set()),
    (refer("missing", "images"), {"images"}),
    ({}, set()),
]


@pytest.mark.parametrize(("spec", "namespaces"), SPECS)
def test_source_namespaces_of_a_data_volume_are_found(spec: JsonObject, namespaces: set[str]) -> None:
    assert run_search(search_foreign_origins(build_data_volume(**spec).spec, "default"), find) == namespaces


def test_source_namespaces_of_all_data_volume_templates_are_found() -> None:
    templates = [{"metadata": {"name": str(n)}, "spec": {"storage": {}, **spec}} for n, (spec, _) in enumerate(SPECS)]
    vm = build_vm(namespace="default", dataVolumeTemplates=templates)
    kind = find_kind("kubevirt.io/v1", "VirtualMachine")
    assert kind is not None
    request = find_clone_request(Submission(kind, to_tree(vm), None), "default")
    assert request is not None
    assert run_search(search_clone_sources(request), find) == CloneSources(("images",), "default")


@pytest.mark.parametrize(("name", "namespaces"), [("near", set()), ("far", {"images"}), ("alias", {"images"})])
def test_source_namespaces_of_a_data_source_are_found(name: str, namespaces: set[str]) -> None:
    assert list_foreign_targets(from_tree(SOURCES[f"default/{name}"], DataSourceSource), "default") == namespaces


def test_service_account_of_a_clone_comes_from_a_volume_or_is_named_default() -> None:
    volumes = [{"name": "a", "serviceAccount": {"serviceAccountName": "robot"}}]
    assert find_service_account(build_vm(template={"volumes": volumes})) == "robot"
    assert find_service_account(build_vm()) == "default"

"""Resolving the sources of claims and DataVolumes."""

from typing import Any

import pytest
from tests.support.caches import FakeCache
from tests.support.instances import STAMP, build_vmi
from tests.support.storageobjects import build_bound, build_claim, build_data_volume, build_volume

from virtshape.api.cdi import DataSource, DataSourceSource, DataVolumeSource
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.model import JsonObject
from virtshape.api.snapshot import VolumeSnapshot
from virtshape.controllers.storage.datasources import describe_data_source
from virtshape.controllers.storage.fillrequests import find_unsupported_source, make_fill_request, parse_header
from virtshape.controllers.storage.protocol import Blank, Copy, FillRequest, Restore, Volume
from virtshape.controllers.storage.sources import (
    CopySource,
    SourceProblem,
    find_claim_data_source,
    find_copy_source,
    find_writers,
    resolve_source,
)

GIB = 1 << 30
FILLING = {"cdi.kubevirt.io/storage.pod.phase": "Pending"}


def build_source(name: str, **source: Any) -> DataSource:
    tree = {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataSource",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"source": source},
    }
    return from_tree(tree, DataSource)


def build_snapshot(status: JsonObject | None) -> VolumeSnapshot:
    tree = {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": "s1", "namespace": "default"},
        "spec": {"source": {"persistentVolumeClaimName": "c1"}},
        "status": status,
    }
    return from_tree(tree, VolumeSnapshot)


READY = build_snapshot({"readyToUse": True, "boundVolumeSnapshotContentName": "content", "restoreSize": "1Gi"})
PVC = {"pvc": {"name": "c1", "namespace": "default"}}
SNAPSHOT = {"snapshot": {"name": "s1", "namespace": "default"}}
KNOWN = FakeCache(
    build_bound(),
    build_volume(claim="c1", uid="u1"),
    READY,
    build_source("image", **PVC),
    build_source("alias", dataSource={"name": "image", "namespace": "default"}),
    build_source("loop", dataSource={"name": "loop", "namespace": "default"}),
    build_source("lost", dataSource={"name": "gone", "namespace": "default"}),
)


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"source": {"blank": {}}}, {"blank": {}}),
        ({"sourceRef": {"kind": "DataSource", "name": "image"}}, PVC),
        ({"sourceRef": {"kind": "DataSource", "name": "alias", "namespace": "default"}}, PVC),
    ],
    ids=["source", "DataSource", "DataSource that refers to another"],
)
def test_source_of_a_data_volume_is_resolved(spec: JsonObject, found: JsonObject) -> None:
    assert to_tree(resolve_source(build_data_volume(**spec).spec, "default", KNOWN)) == found


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({}, SourceProblem("NoSource", "the DataVolume has neither source nor sourceRef", final=True)),
        (
            {"sourceRef": {"kind": "Other", "name": "a"}},
            SourceProblem("NotSupported", "sourceRef refers to a Other: only DataSource is supported", final=True),
        ),
        (
            {"sourceRef": {"kind": "DataSource", "name": "lost"}},
            SourceProblem("NotFound", "DataSource default/gone not found"),
        ),
        (
            {"sourceRef": {"kind": "DataSource", "name": "loop"}},
            SourceProblem("MaxReferenceDepth", "DataSources refer to each other more than 8 times, up to loop"),
        ),
    ],
    ids=["no source", "another kind", "missing DataSource", "endless chain of DataSources"],
)
def test_unresolvable_source_of_a_data_volume_is_reported(spec: JsonObject, problem: SourceProblem) -> None:
    assert resolve_source(build_data_volume(**spec).spec, "default", KNOWN) == problem


def find(source: JsonObject, *items: Any) -> CopySource | SourceProblem | None:
    return find_copy_source(from_tree(source, DataVolumeSource), "default", FakeCache(*items) if items else KNOWN)


def test_claims_and_snapshots_can_be_cloned() -> None:
    claim = build_bound()
    assert find(PVC) == CopySource(Copy(Volume("pv-c1", GIB)), GIB, claim.metadata)
    assert find(SNAPSHOT) == CopySource(Restore("content"), GIB, READY.metadata)
    assert find({"blank": {}}) is None


@pytest.mark.parametrize(
    ("source", "item", "message"),
    [
        (PVC, build_claim("other"), "not found"),
        (PVC, build_claim(), "is not bound yet"),
        (PVC, build_bound(annotations=FILLING), "is not populated yet"),
        (SNAPSHOT, build_claim(), "not found"),
        (SNAPSHOT, build_snapshot(None), "is not ready to use yet"),
        (SNAPSHOT, build_snapshot({"readyToUse": False}), "is not ready to use yet"),
    ],
    ids=["no claim", "unbound", "unfilled", "no snapshot", "new snapshot", "failed snapshot"],
)
def test_clone_source_that_is_not_ready_is_a_temporary_problem(source: JsonObject, item: Any, message: str) -> None:
    problem = find(source, item, build_volume(claim="c1", uid="u1"))
    assert isinstance(problem, SourceProblem)
    assert message in problem.message
    assert not problem.final


def test_instances_that_write_to_a_clone_source_are_named() -> None:
    volumes = [{"name": "a", "persistentVolumeClaim": {"claimName": "c1"}}]
    reading = [{"name": "a", "persistentVolumeClaim": {"claimName": "c1", "readOnly": True}}]
    writer, reader = build_vmi(volumes=volumes), build_vmi(uid="2", name="reader", volumes=reading)
    origin = Copy(Volume("pv-c1", GIB))
    assert find_writers(origin, FakeCache(*KNOWN.items, writer, reader)) == "VirtualMachineInstance vm1"
    assert find_writers(origin, FakeCache(*KNOWN.items, reader)) == ""
    assert find_writers(origin, FakeCache()) == ""


@pytest.mark.parametrize(
    ("spec", "origin"),
    [
        ({}, None),
        ({"dataSource": {"kind": "PersistentVolumeClaim", "name": "c1"}}, Copy(Volume("pv-c1", GIB))),
        ({"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "c1"}}, Copy(Volume("pv-c1", GIB))),
        (
            {"dataSource": {"kind": "VolumeSnapshot", "apiGroup": "snapshot.storage.k8s.io", "name": "s1"}},
            Restore("content"),
        ),
        (
            {"dataSource": {"kind": "PersistentVolumeClaim", "name": "no"}},
            SourceProblem("ProvisioningFailed", "PersistentVolumeClaim default/no not found"),
        ),
        (
            {"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "c1", "namespace": "other"}},
            SourceProblem(
                "ProvisioningFailed",
                "a claim cannot use a data source in another namespace (other): use a DataVolume",
                final=True,
            ),
        ),
        (
            {"dataSourceRef": {"kind": "VolumeImportSource", "apiGroup": "cdi.kubevirt.io", "name": "a"}},
            SourceProblem(
                "ProvisioningFailed",
                "data sources of kind VolumeImportSource.cdi.kubevirt.io are not supported",
                final=True,
            ),
        ),
    ],
    ids=["none", "claim", "claim as dataSourceRef", "snapshot", "missing", "other namespace", "unknown kind"],
)
def test_data_source_of_a_claim_is_resolved_or_reported(spec: JsonObject, origin: Any) -> None:
    claim: PersistentVolumeClaim = build_claim("new", **spec)
    assert find_claim_data_source(claim, KNOWN) == origin


@pytest.mark.parametrize(
    ("source", "items", "ready", "reason"),
    [
        (PVC, [build_claim()], "True", "Ready"),
        (PVC, [build_claim(annotations=FILLING)], "False", "NotReady"),
        (PVC, [], "False", "NotFound"),
        (SNAPSHOT, [READY], "True", "Ready"),
        (SNAPSHOT, [build_snapshot({"readyToUse": False})], "False", "NotReady"),
        (SNAPSHOT, [], "False", "NotFound"),
        ({"dataSource": {"name": "image", "namespace": "default"}}, [build_claim()], "True", "Ready"),
        ({}, [], "False", "NotFound"),
    ],
)
def test_data_source_is_ready_only_if_its_target_is_ready(
    source: JsonObject, items: list[Any], ready: str, reason: str
) -> None:
    asked = build_source("asked", **source)
    status = describe_data_source(asked, FakeCache(asked, build_source("image", **PVC), *items), STAMP)
    (condition,) = status.conditions or []
    assert (condition.status, condition.reason, condition.last_transition_time) == (ready, reason, STAMP)
    end = PVC if "dataSource" in source else source
    assert status.source == from_tree(end, DataSourceSource)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"blank": {}}, None),
        ({"http": {"url": "http://a"}}, None),
        ({"upload": {}}, None),
        ({"s3": {"url": "s3://a"}}, "source s3 (an S3 store) is not supported"),
        ({"gcs": {"url": "gs://a"}}, "source gcs (Google Cloud Storage) is not supported"),
        ({"vddk": {}}, "source vddk (a VMware server) is not supported"),
        ({"imageio": {"url": "https://a", "diskId": "1"}}, "source imageio (an oVirt server) is not supported"),
        ({"registry": {"imageStream": "a"}}, "must set url"),
        ({}, "the source is empty"),
    ],
)
def test_only_unsupported_data_volume_sources_are_rejected(source: JsonObject, message: str | None) -> None:
    refusal = find_unsupported_source(build_data_volume(), from_tree(source, DataVolumeSource))
    assert (refusal is None) == (message is None)
    if refusal is not None:
        assert message is not None
        assert message in refusal.message
        assert refusal.final


def test_fill_request_has_the_content_type_and_preallocation_of_its_data_volume() -> None:
    volume = build_data_volume(contentType="archive", preallocation=True)
    assert make_fill_request(volume, Blank()) == FillRequest(source=Blank(), content="archive", preallocated=True)


@pytest.mark.parametrize(
    ("line", "header"), [("X-A: 1", ("X-A", "1")), (" X-A:b:c\n", ("X-A", "b:c")), ("X-A", ("X-A", ""))]
)
def test_http_headers_of_a_source_are_parsed(line: str, header: tuple[str, str]) -> None:
    assert parse_header(line) == header

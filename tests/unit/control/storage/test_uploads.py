"""Claims that are filled by uploads: which ones, under what key, and what they say of how far it is."""

from typing import Any

import pytest
from tests.unit.control.storage.build import build_bound, build_claim

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.meta import ObjectMeta, OwnerReference
from virtshape.control.storage.claimstatus import is_filled
from virtshape.control.storage.uploads import (
    count_failures,
    find_content,
    find_upload_key,
    is_upload_target,
    mark_failed,
    mark_filled,
    mark_played,
    mark_ready,
    mark_waiting,
)

CDI = "cdi.kubevirt.io/storage"
MARK = {f"{CDI}.upload.target": ""}


def build_target(**annotations: str) -> PersistentVolumeClaim:
    return build_bound(annotations={**MARK, **annotations})


def own(claim: PersistentVolumeClaim, kind: str) -> PersistentVolumeClaim:
    assert claim.metadata is not None
    claim.metadata.owner_references = [
        OwnerReference(name="dv1", api_version="cdi.kubevirt.io/v1beta1", kind=kind, uid="dv-uid", controller=True)
    ]
    return claim


TARGETS: dict[str, tuple[PersistentVolumeClaim, bool]] = {
    "marked": (build_target(), True),
    "not marked": (build_bound(), False),
    "a DataVolume's": (own(build_target(), "DataVolume"), False),
    "somebody else's": (own(build_target(), "StatefulSet"), True),
    "a copy": (build_bound(annotations=MARK, dataSource={"kind": "PersistentVolumeClaim", "name": "c0"}), False),
}


@pytest.mark.parametrize(("claim", "is_one"), TARGETS.values(), ids=TARGETS)
def test_a_claim_is_filled_by_uploads_if_it_says_so_and_nothing_else_fills_it(
    claim: PersistentVolumeClaim, is_one: bool
) -> None:
    assert is_upload_target(claim) is is_one


def test_the_work_is_known_by_the_volume_or_the_data_volume() -> None:
    assert find_upload_key(build_target()) == "pv-c1"
    assert find_upload_key(own(build_target(), "DataVolume")) == "dv-uid"
    assert find_upload_key(build_claim(annotations=MARK)) == ""


@pytest.mark.parametrize(("stated", "content"), [(None, "kubevirt"), ("kubevirt", "kubevirt"), ("archive", "archive")])
def test_a_claim_says_what_it_is_to_hold(stated: str | None, content: str) -> None:
    annotations = {f"{CDI}.contentType": stated} if stated else {}
    assert find_content(build_target(**annotations)) == content


def read(metadata: ObjectMeta) -> dict[str, str]:
    return {key: text for key, text in (metadata.annotations or {}).items() if key.startswith(f"{CDI}.")}


MARKED: dict[str, tuple[Any, dict[str, str]]] = {
    "ready": (mark_ready, {f"{CDI}.pod.phase": "Running", f"{CDI}.pod.ready": "true"}),
    "waiting": (mark_waiting, {f"{CDI}.pod.phase": "Pending", f"{CDI}.pod.ready": "false"}),
    "filled": (mark_filled, {f"{CDI}.pod.phase": "Succeeded", f"{CDI}.pod.ready": "false"}),
    "played": (mark_played, {f"{CDI}.pod.phase": "Succeeded", f"{CDI}.pod.ready": "true"}),
}


@pytest.mark.parametrize(("mark", "annotations"), MARKED.values(), ids=MARKED)
def test_a_claim_says_how_far_it_is(mark: Any, annotations: dict[str, str]) -> None:
    assert read(mark(build_target())) == {**MARK, **annotations}


def test_failures_are_counted_and_the_last_one_is_explained_until_one_succeeds() -> None:
    claim = build_target()
    for count in (1, 2):
        claim.metadata = mark_failed(claim, f"reason {count}")
        assert count_failures(claim.metadata) == count
    assert read(claim.metadata or ObjectMeta()) == {
        **MARK,
        f"{CDI}.pod.phase": "Running",
        f"{CDI}.pod.ready": "true",
        f"{CDI}.pod.restarts": "2",
        f"{CDI}.condition.running.message": "reason 2",
    }
    assert f"{CDI}.condition.running.message" not in read(mark_filled(claim))


@pytest.mark.parametrize(("text", "count"), [("3", 3), ("", 0), ("-1", 0), ("many", 0)])
def test_a_count_that_somebody_wrote_by_hand_is_read_with_care(text: str, count: int) -> None:
    assert count_failures(ObjectMeta(annotations={f"{CDI}.pod.restarts": text})) == count


FILLED = {
    "an ordinary claim": ({}, True),
    "one that waits for an upload": (MARK, False),
    "one that is being uploaded to": ({**MARK, f"{CDI}.pod.phase": "Running"}, False),
    "one that was": ({**MARK, f"{CDI}.pod.phase": "Succeeded"}, True),
}


@pytest.mark.parametrize(("annotations", "filled"), FILLED.values(), ids=FILLED)
def test_no_vm_starts_from_a_claim_that_waits_for_its_content(annotations: dict[str, str], filled: bool) -> None:
    assert is_filled(build_bound(annotations=annotations)) is filled

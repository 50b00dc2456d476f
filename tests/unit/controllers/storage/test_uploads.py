"""Annotations of claims that are populated by uploads."""

from typing import Any

import pytest
from tests.support.storageobjects import CDI, MARK, build_target

from virtshape.api.meta import ObjectMeta
from virtshape.controllers.storage.uploads import mark_failed, mark_filled, mark_ready, mark_simulated, mark_waiting
from virtshape.engine.claims import count_failures


def read(metadata: ObjectMeta) -> dict[str, str]:
    return {key: text for key, text in (metadata.annotations or {}).items() if key.startswith(f"{CDI}.")}


MARKED: dict[str, tuple[Any, dict[str, str]]] = {
    "ready": (mark_ready, {f"{CDI}.pod.phase": "Running", f"{CDI}.pod.ready": "true"}),
    "waiting": (mark_waiting, {f"{CDI}.pod.phase": "Pending", f"{CDI}.pod.ready": "false"}),
    "filled": (mark_filled, {f"{CDI}.pod.phase": "Succeeded", f"{CDI}.pod.ready": "false"}),
    "simulated": (mark_simulated, {f"{CDI}.pod.phase": "Succeeded", f"{CDI}.pod.ready": "true"}),
}


@pytest.mark.parametrize(("mark", "annotations"), MARKED.values(), ids=MARKED)
def test_upload_phase_sets_the_annotations_of_the_claim(mark: Any, annotations: dict[str, str]) -> None:
    assert read(mark(build_target())) == {**MARK, **annotations}


def test_failed_uploads_are_counted_until_success() -> None:
    claim = build_target()
    for count in (1, 2):
        claim.metadata = mark_failed(claim, f"reason {count}")
        assert count_failures(claim.metadata) == count
    assert read(claim.metadata) == {
        **MARK,
        f"{CDI}.pod.phase": "Running",
        f"{CDI}.pod.ready": "true",
        f"{CDI}.pod.restarts": "2",
        f"{CDI}.condition.running.message": "reason 2",
    }
    assert f"{CDI}.condition.running.message" not in read(mark_filled(claim))

"""Reasons why VMs wait for their volumes."""

import pytest
from tests.support.build import build_vm
from tests.support.caches import FakeCache
from tests.support.objects import object_from_tree

from virtshape.api.model import JsonObject, Model
from virtshape.controllers.vm.status import ConditionReason
from virtshape.controllers.vm.volumestatus import explain_wait, is_unreported


def build_volume(phase: str, *, restarts: int = 0, message: str = "") -> Model:
    conditions = [{"type": "Running", "status": "False", "message": message}]
    return object_from_tree(
        {
            "apiVersion": "cdi.kubevirt.io/v1beta1",
            "kind": "DataVolume",
            "metadata": {"name": "dv", "namespace": "default"},
            "spec": {"source": {"blank": {}}},
            "status": {"phase": phase, "restartCount": restarts, "conditions": conditions},
        }
    )


CLAIM = object_from_tree(
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "dv", "namespace": "default"},
        "status": {"phase": "Bound"},
    }
)
OF_VOLUME: JsonObject = {"name": "a", "dataVolume": {"name": "dv"}}
OF_CLAIM: JsonObject = {"name": "b", "persistentVolumeClaim": {"claimName": "none"}}

WAITS: dict[str, tuple[list[JsonObject], list[Model], ConditionReason | None]] = {
    "no disks": ([], [], None),
    "succeeded volume": ([OF_VOLUME], [build_volume("Succeeded")], None),
    "claim without a DataVolume": ([OF_VOLUME], [CLAIM], None),
    "pending volume": (
        [OF_VOLUME],
        [build_volume("ImportInProgress", message="downloading")],
        ConditionReason("NotAllDVsReady", "DataVolume dv is ImportInProgress"),
    ),
    "volume before a retry": (
        [OF_VOLUME],
        [build_volume("ImportInProgress", restarts=2, message="no such host")],
        ConditionReason("DataVolumeError", "DataVolume dv is ImportInProgress: no such host"),
    ),
    "volume during a retry": (
        [OF_VOLUME],
        [build_volume("ImportInProgress", restarts=2)],
        ConditionReason("NotAllDVsReady", "DataVolume dv is ImportInProgress"),
    ),
    "failed volume": (
        [OF_VOLUME],
        [build_volume("Failed", message="no s3 here")],
        ConditionReason("DataVolumeError", "DataVolume dv is Failed: no s3 here"),
    ),
    "missing volume": (
        [OF_VOLUME],
        [],
        ConditionReason("FailedPvcNotFound", "neither DataVolume nor PersistentVolumeClaim dv found"),
    ),
    "missing volume before pending volume": (
        [OF_VOLUME, OF_CLAIM],
        [build_volume("Pending")],
        ConditionReason("FailedPvcNotFound", "PersistentVolumeClaim none not found; DataVolume dv is Pending"),
    ),
}


@pytest.mark.parametrize(("volumes", "items", "wait"), WAITS.values(), ids=WAITS.keys())
def test_wait_reason_names_all_volumes_that_are_not_ready(
    volumes: list[JsonObject], items: list[Model], wait: ConditionReason | None
) -> None:
    vm = build_vm(namespace="default", template={"volumes": volumes})
    assert explain_wait(vm, FakeCache(*items)) == wait


@pytest.mark.parametrize(
    ("reported", "waiting", "news"),
    [
        ("", ConditionReason("FailedPvcNotFound", "a"), True),
        ("b", ConditionReason("FailedPvcNotFound", "a"), True),
        ("a", ConditionReason("FailedPvcNotFound", "a"), False),
        ("", ConditionReason("NotAllDVsReady", "a"), False),
    ],
    ids=["first", "another", "the same", "nothing wrong"],
)
def test_only_new_volume_problems_are_reported(reported: str, waiting: ConditionReason, news: bool) -> None:
    conditions = [{"type": "DataVolumesReady", "status": "False", "message": reported}] if reported else []
    assert is_unreported(build_vm(status={"conditions": conditions}), waiting) == news

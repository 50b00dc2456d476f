"""Answers about revisions, for questions that only the oracle answers: the recorded vectors have none."""

from collections.abc import Callable
from typing import Any

from virtshape.api.codec import from_tree, object_from_tree, to_tree
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.controllers.vm.revisions import build_upgrade, has_same_content


def answer_compare_revisions(question: JsonObject) -> JsonObject:
    one, other = _revision(question["one"]), _revision(question["other"])
    return {"same": has_same_content(one, other, question["one"]["kind"])}


def answer_upgrade_revisions(question: JsonObject) -> JsonObject:
    vm = from_tree(question["vm"], VirtualMachine)
    assert vm.spec.instancetype is not None
    (old,) = question["objects"]
    revision: Any = object_from_tree(old)
    return {"revisions": [to_tree(build_upgrade(vm, revision, vm.spec.instancetype, "instancetype"))]}


def _revision(payload: JsonObject) -> Any:
    metadata = {"name": "revision", "namespace": "prod"}
    tree = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "data": payload, "revision": 0}
    return object_from_tree(tree)


REVISION_ANSWERS: dict[str, Callable[[JsonObject], JsonObject]] = {
    "compareRevisions": answer_compare_revisions,
    "upgradeRevisions": answer_upgrade_revisions,
}

"""virtshape's results for questions about revisions and complete VMs, which the recorded vectors do not contain."""

from collections.abc import Callable
from typing import Any

from tests.support.objects import object_from_tree

from virtshape.admission.admit import evaluate
from virtshape.admission.checkresult import split_violations
from virtshape.admission.clusterstate import CONFIGURATION, ClusterState, Query, VMCount
from virtshape.admission.submission import Submission
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kinds import find_kind
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject, Model
from virtshape.controllers.vm.revisionobjects import (
    has_same_content,
)
from virtshape.controllers.vm.revisionupgrade import build_upgrade
from virtshape.offline.objects import Objects
from virtshape.resolve.reference import Reference
from virtshape.resolve.search import run_search


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


class _Cluster(ClusterState):
    """A cluster with the objects and the configuration of a question."""

    def __init__(self, question: JsonObject) -> None:
        settings = {
            "apiVersion": "kubevirt.io/v1",
            "kind": CONFIGURATION.kind,
            "metadata": {"name": CONFIGURATION.name, "namespace": CONFIGURATION.namespace},
            "spec": {"configuration": question["configuration"]},
        }
        self._objects = Objects(object_from_tree(tree) for tree in (settings, *question["objects"]))

    @property
    def known(self) -> "_Cluster":
        return self

    @property
    def is_standalone(self) -> bool:
        return False

    def find(self, reference: Reference) -> Model | None:
        return self._objects.find(reference)

    def list_names(self, group: str, kind: str, namespace: str) -> list[str]:
        return self._objects.names(group, kind, namespace)

    def answer(self, query: Query) -> Model | int | None:
        return 0 if isinstance(query, VMCount) else self.find(query)

    def explain_host_disk(self, path: str, configuration: KubeVirtConfiguration | None) -> str:
        del path, configuration
        return ""

    def make_uid(self) -> str:
        return "1-2-3"

    def now(self) -> str:
        return "2026-01-01T00:00:00Z"


def answer_evaluate_vm(question: JsonObject) -> JsonObject:
    cluster, kind = _Cluster(question), find_kind("kubevirt.io/v1", "VirtualMachine")
    assert kind is not None
    found = run_search(evaluate(Submission(kind, question["vm"], None), cluster), cluster.answer).violations
    messages = [cause.message for cause in split_violations(found).causes]
    return {"allowed": False, "refusals": messages} if messages else {"allowed": True}


ORACLE_ANSWERS: dict[str, Callable[[JsonObject], JsonObject]] = {
    "compareRevisions": answer_compare_revisions,
    "upgradeRevisions": answer_upgrade_revisions,
    "evaluateVM": answer_evaluate_vm,
}

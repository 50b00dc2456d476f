"""Fake cluster state for admission: objects in memory, sequential UIDs, a fixed time."""

from collections.abc import Iterable
from typing import Any

from virtshape.admission.clusterstate import Query, VMCount
from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.model import Model
from virtshape.engine.hostaccess import explain_host_disks
from virtshape.offline.objects import Objects
from virtshape.resolve.reference import Reference

NOW = "2026-01-01T00:00:00Z"


class FakeCluster:
    """A fake cluster with the given objects and configuration, in which `users` VMs use each object."""

    def __init__(self, objects: Iterable[Model] = (), *, users: int = 0, **configuration: Any) -> None:
        self._objects = Objects(objects)
        self._objects.add(build_configuration(configuration))
        self._users = users
        self._made = 0

    @property
    def known(self) -> "FakeCluster":
        return self

    @property
    def is_standalone(self) -> bool:
        return False

    def find(self, reference: Reference) -> Model | None:
        return self._objects.find(reference)

    def list_names(self, group: str, kind: str, namespace: str) -> list[str]:
        return self._objects.names(group, kind, namespace)

    def answer(self, query: Query) -> Model | int | None:
        return self._users if isinstance(query, VMCount) else self.find(query)

    def explain_host_disk(self, path: str, configuration: KubeVirtConfiguration | None) -> str:
        return explain_host_disks(configuration)(path)

    def make_uid(self) -> str:
        self._made += 1
        return f"uid-{self._made}"

    def now(self) -> str:
        return NOW


def build_configuration(configuration: dict[str, Any]) -> KubeVirt:
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
        "spec": {"configuration": configuration},
    }
    return from_tree(tree, KubeVirt)

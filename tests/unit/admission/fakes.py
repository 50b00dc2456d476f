"""Fake cluster state for admission: objects in memory, sequential UIDs, a fixed time."""

from collections.abc import Iterable
from typing import Any

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import Model
from virtshape.engine.hostaccess import explain_host_disks
from virtshape.offline.objects import Objects
from virtshape.resolve.reference import Reference

NOW = "2026-01-01T00:00:00Z"


class FakeCluster:
    """Cluster with the given objects and a fixed number of VMs that use them."""

    architecture = "amd64"

    def __init__(self, objects: Iterable[Model] = (), *, users: int = 0, **configuration: Any) -> None:
        self._objects = Objects(objects)
        self._users = users
        self._made = 0
        self.configuration = from_tree(configuration, KubeVirtConfiguration)

    def find(self, reference: Reference) -> Model | None:
        return self._objects.find(reference)

    def list_names(self, group: str, kind: str, namespace: str) -> list[str]:
        return self._objects.names(group, kind, namespace)

    def explain_host_disk(self, path: str) -> str:
        return explain_host_disks(self.configuration)(path)

    def make_uid(self) -> str:
        self._made += 1
        return f"uid-{self._made}"

    def now(self) -> str:
        return NOW

    def count_machines(self, _: Reference) -> int:
        return self._users

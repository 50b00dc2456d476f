"""
What admission asks of the system around it: objects, names, the configuration.

Only the protocol. An API server answers from its store, a webhook from its caches.
"""

from collections.abc import Collection
from typing import Any, NamedTuple, Protocol

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import Model
from virtshape.resolve.reference import Reference

Tree = dict[str, Any]


class Admitted(NamedTuple):
    """The object to store, and what its author should know."""

    tree: Tree
    warnings: list[str]


class Finder(Protocol):
    """Finds objects, and the names that there are."""

    def find(self, reference: Reference) -> Model | None:
        """The object at a reference; it is shared, and not to be changed."""

    def list_names(self, group: str, kind: str, namespace: str) -> Collection[str]:
        """The names of all objects of a kind, in a namespace if it is a namespaced one."""


class ClusterState(Finder, Protocol):
    """The system that an object is admitted to."""

    @property
    def configuration(self) -> KubeVirtConfiguration | None:
        """What the administrator has set."""

    @property
    def architecture(self) -> str:
        """The architecture of guests that name none."""

    def explain_host_disk(self, path: str) -> str:
        """Return why a guest may not have this file of its host as a disk; empty if it may."""

    def make_uid(self) -> str:
        """A name that nothing else has or will have."""

    def now(self) -> str:
        """The moment, as objects state it."""

    def count_machines(self, reference: Reference) -> int:
        """How many VMs name this instance type, flavor or preference."""

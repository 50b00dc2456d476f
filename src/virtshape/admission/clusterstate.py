"""
The cluster state that admission reads: objects, names, configuration.

Only protocols: the API server implements them with its store, the webhook with its caches.
"""

from collections.abc import Collection
from typing import NamedTuple, Protocol

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject, Model
from virtshape.resolve.reference import Reference


class Admitted(NamedTuple):
    """The object to store, and warnings for its author."""

    tree: JsonObject
    warnings: list[str]


class Finder(Protocol):
    """Finds objects and lists names."""

    def find(self, reference: Reference) -> Model | None:
        """Return the object, or None. It is shared and must not be changed."""

    def list_names(self, group: str, kind: str, namespace: str) -> Collection[str]:
        """Return the names of all objects of a kind, in a namespace if the kind is namespaced."""


class ClusterState(Finder, Protocol):
    """The cluster that an object is admitted to."""

    @property
    def configuration(self) -> KubeVirtConfiguration | None:
        """The KubeVirt configuration."""

    @property
    def architecture(self) -> str:
        """The default architecture of guests."""

    def explain_host_disk(self, path: str) -> str:
        """Return why a guest may not use this host file as a disk; empty if it may."""

    def make_uid(self) -> str:
        """Return a new unique ID."""

    def now(self) -> str:
        """Return the current time as a Kubernetes timestamp."""

    def count_machines(self, reference: Reference) -> int:
        """Return the number of VMs that refer to this instance type, flavor or preference."""

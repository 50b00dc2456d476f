"""
The queries that admission makes, and the interfaces through which it reads the cluster.

Admission of an object is a generator: the generator yields queries, receives the result of each query, and returns its
decision. The API server answers queries from its store. The webhook answers queries from its caches or by requests to
the cluster.
"""

from collections.abc import Collection, Generator
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.model import JsonObject, Model
from virtshape.api.wellknown import KUBEVIRT
from virtshape.resolve.reference import Reference

T = TypeVar("T")

CONFIGURATION: Final = Reference("kubevirt.io", "KubeVirt", KUBEVIRT, KUBEVIRT)


class VMCount(Struct, frozen=True):
    """A query for the number of VMs that refer to this instance type, flavor or preference."""

    reference: Reference


Query = Reference | VMCount
Steps = Generator[Query, Any, T]
"""A generator that yields queries, receives an object, None or a count for each query, and returns a decision."""


class Admitted(NamedTuple):
    """The object to store, and warnings for its author."""

    tree: JsonObject
    warnings: list[str]


class Finder(Protocol):
    """Finds objects in memory and lists their names."""

    def find(self, reference: Reference) -> Model | None:
        """Return the object, or None. The object is shared and must not be changed."""

    def list_names(self, group: str, kind: str, namespace: str) -> Collection[str]:
        """Return the names of all objects of a kind, in a namespace if the kind is namespaced."""


class ClusterState(Protocol):
    """The state of the cluster to which an object is admitted."""

    @property
    def known(self) -> Finder:
        """The objects to suggest in messages and to list in previews, which are in memory and may be outdated."""

    @property
    def is_standalone(self) -> bool:
        """True if the server runs guests on its own machine, without pods; False on a cluster and if unknown."""

    def explain_host_disk(self, path: str, configuration: KubeVirtConfiguration | None) -> str:
        """Return the reason why a guest may not use this host file as a disk; empty if the guest may use the file."""

    def make_uid(self) -> str:
        """Return a new UID."""

    def now(self) -> str:
        """Return the current time as a Kubernetes timestamp."""


def read_configuration(found: Model | None) -> KubeVirtConfiguration | None:
    """Return the configuration in the KubeVirt object that was found at `CONFIGURATION`, or None."""
    return found.spec.configuration if isinstance(found, KubeVirt) else None

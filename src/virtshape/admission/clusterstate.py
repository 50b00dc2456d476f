"""
Queries of admission, and the interfaces that it reads the cluster through.

Admission of an object is a generator: it yields queries, receives the result of each, and returns its decision. The API
server answers queries from its store; the webhook uses its caches, and requests to the cluster.
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
"""A generator that yields queries, receives an object, None or a count for each, and returns a decision."""


class Admitted(NamedTuple):
    """The object to store, and warnings for its author."""

    tree: JsonObject
    warnings: list[str]


class Finder(Protocol):
    """Finds objects and lists names, in memory."""

    def find(self, reference: Reference) -> Model | None:
        """Return the object, or None. It is shared and must not be changed."""

    def list_names(self, group: str, kind: str, namespace: str) -> Collection[str]:
        """Return the names of all objects of a kind, in a namespace if the kind is namespaced."""


class ClusterState(Protocol):
    """The cluster that an object is admitted to."""

    @property
    def known(self) -> Finder:
        """Objects in memory for suggestions; they may be outdated."""

    def explain_host_disk(self, path: str, configuration: KubeVirtConfiguration | None) -> str:
        """Return why a guest may not use this host file as a disk; empty if it may."""

    def make_uid(self) -> str:
        """Return a new UID."""

    def now(self) -> str:
        """Return the current time as a Kubernetes timestamp."""


def read_configuration(found: Model | None) -> KubeVirtConfiguration | None:
    """Return the configuration in the KubeVirt object that was found at `CONFIGURATION`, or None."""
    return found.spec.configuration if isinstance(found, KubeVirt) else None

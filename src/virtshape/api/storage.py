"""Structs of storage.k8s.io/v1: storage classes."""

from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Model


class TopologySelectorLabelRequirement(Model):
    """A label requirement of a topology term."""

    key: str
    """Key of the node label."""
    values: list[str]
    """Values of the node label that are accepted."""


class TopologySelectorTerm(Model):
    """A topology term: requirements on the labels of nodes."""

    match_label_expressions: list[TopologySelectorLabelRequirement] | None = None
    """The label requirements; all must match."""


class StorageClass(KubernetesObject, kw_only=True):
    """A class of storage that claims refer to by name."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `StorageClass`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    provisioner: str
    """Name of the provisioner."""
    allow_volume_expansion: bool | None = None
    """Whether volumes of this class can be expanded."""
    allowed_topologies: list[TopologySelectorTerm] | None = None
    """Topologies in which volumes may be created."""
    mount_options: list[str] | None = None
    """Mount options of volumes of this class."""
    parameters: dict[str, str] | None = None
    """Parameters for the provisioner."""
    reclaim_policy: str | None = None
    """What happens to a volume when its claim is deleted: `Delete` (default) or `Retain`."""
    volume_binding_mode: str | None = None
    """When a volume is created: `Immediate` or `WaitForFirstConsumer`."""

"""Structs of storage.k8s.io/v1: storage classes."""

from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model


class TopologySelectorLabelRequirement(Model):
    """One label that nodes of a place have."""

    key: str
    """The label's key."""
    values: list[str]
    """The accepted values."""


class TopologySelectorTerm(Model):
    """A place, given by the labels of its nodes."""

    match_label_expressions: list[TopologySelectorLabelRequirement] | None = None
    """The labels; all must match."""


class StorageClass(Model, kw_only=True):
    """A kind of storage that claims can ask for by name."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`StorageClass`."""
    metadata: ObjectMeta | None = None
    """Standard object metadata."""
    provisioner: str
    """Name of the provisioner."""
    allow_volume_expansion: bool | None = None
    """Whether its volumes can grow."""
    allowed_topologies: list[TopologySelectorTerm] | None = None
    """Where its volumes may be made."""
    mount_options: list[str] | None = None
    """The options that its volumes are mounted with."""
    parameters: dict[str, str] | None = None
    """Parameters of the provisioner."""
    reclaim_policy: str | None = None
    """What happens to a volume when its claim is deleted: `Delete` (default) or `Retain`."""
    volume_binding_mode: str | None = None
    """When a volume is made: `Immediate` or `WaitForFirstConsumer`."""

"""
Config maps and secrets: small data that pods and controllers read.

Values of a secret's `data` stay in base64, as on the wire.
"""

from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model


class ConfigMap(Model, kw_only=True):
    """Small data that anyone who may read the namespace may see."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """`ConfigMap`."""
    metadata: ObjectMeta | None = None
    """The object's name, namespace, labels and the like."""
    binary_data: dict[str, str] | None = None
    """Bytes by key, in base64."""
    data: dict[str, str] | None = None
    """Texts by key."""
    immutable: bool | None = None
    """Refuses any later change of the data."""


class Secret(Model, kw_only=True):
    """Small data that few should see."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """`Secret`."""
    metadata: ObjectMeta | None = None
    """The object's name, namespace, labels and the like."""
    data: dict[str, str] | None = None
    """Values by key, in base64."""
    immutable: bool | None = None
    """Refuses any later change of the data."""
    string_data: dict[str, str] | None = None
    """Values by key in plain text; written into `data` and never read back."""
    type: str | None = None
    """What the data is for, which decides the keys it must have."""

"""
Structs of config maps and secrets.

Values of a secret's `data` stay in base64.
"""

from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model


class ConfigMap(Model, kw_only=True):
    """Non-confidential data as key-value pairs."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """`ConfigMap`."""
    metadata: ObjectMeta | None = None
    """Standard object metadata."""
    binary_data: dict[str, str] | None = None
    """Bytes by key, in base64."""
    data: dict[str, str] | None = None
    """Texts by key."""
    immutable: bool | None = None
    """Whether the data is immutable."""


class Secret(Model, kw_only=True):
    """Confidential data as key-value pairs."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """`Secret`."""
    metadata: ObjectMeta | None = None
    """Standard object metadata."""
    data: dict[str, str] | None = None
    """Values by key, in base64."""
    immutable: bool | None = None
    """Whether the data is immutable."""
    string_data: dict[str, str] | None = None
    """Values by key in plain text; written into `data` and never read back."""
    type: str | None = None
    """Type of the secret, which defines its required keys."""

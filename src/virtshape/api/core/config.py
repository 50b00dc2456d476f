"""
Structs for config maps and secrets.

Values in a secret's `data` are base64 strings, which are not decoded.
"""

from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata


class ConfigMap(KubernetesObject, kw_only=True):
    """Non-confidential data as key-value pairs."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """The kind of this object: `ConfigMap`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    binary_data: dict[str, str] | None = None
    """Binary values by key, in base64."""
    data: dict[str, str] | None = None
    """UTF-8 strings by key."""
    immutable: bool | None = None
    """Whether the data is immutable."""


class Secret(KubernetesObject, kw_only=True):
    """Confidential data as key-value pairs."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """The kind of this object: `Secret`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    data: dict[str, str] | None = None
    """Values by key, in base64."""
    immutable: bool | None = None
    """Whether the data is immutable."""
    string_data: dict[str, str] | None = None
    """Values by key in plain text; written into `data` and never read back."""
    type: str | None = None
    """Type of the secret, which defines its required keys."""

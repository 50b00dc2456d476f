"""Struct for service accounts, and their user names."""

from typing import Final

from virtshape.api.core.podshared import LocalObjectReference
from virtshape.api.core.reference import ObjectReference
from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata

USER_PREFIX: Final = "system:serviceaccount:"


class ServiceAccount(KubernetesObject, kw_only=True):
    """An identity that pods use in requests to the API."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """The kind of this object: `ServiceAccount`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    automount_service_account_token: bool | None = None
    """Whether a token is mounted into pods that do not set automountServiceAccountToken."""
    image_pull_secrets: list[LocalObjectReference] | None = None
    """Image pull secrets of the account's pods."""
    secrets: list[ObjectReference] | None = None
    """The secrets that the account's pods may use."""


def name_account_user(namespace: str, name: str) -> str:
    """Return the user name of a service account."""
    return f"{USER_PREFIX}{namespace}:{name}"

"""
Service accounts: who a pod is to the API.

Only structs: nothing here issues tokens.
"""

from virtshape.api.core.pod import LocalObjectReference
from virtshape.api.core.reference import ObjectReference
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model


class ServiceAccount(Model, kw_only=True):
    """The identity that pods have towards the API."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """`ServiceAccount`."""
    metadata: ObjectMeta | None = None
    """The object's name, namespace, labels and the like."""
    automount_service_account_token: bool | None = None
    """Whether its pods get a token, where they do not say."""
    image_pull_secrets: list[LocalObjectReference] | None = None
    """The secrets that its pods fetch images with."""
    secrets: list[ObjectReference] | None = None
    """The secrets that its pods may use."""

"""
Storage classes: the class of a claim, the default class and its binding mode.

Pure functions.
"""

from collections.abc import Iterable
from typing import Final

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.meta import ObjectMeta
from virtshape.api.storage import StorageClass
from virtshape.controllers.storage.names import BIND_NOW, DEFAULT_CLASS, SELECTED_NODE

WAITS: Final = "WaitForFirstConsumer"
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


def class_name(claim: PersistentVolumeClaim) -> str | None:
    """Return the storage class name of a claim; empty for no class, None if unset."""
    stated = claim.spec.storage_class_name if claim.spec else None
    return stated if stated is not None else annotation(claim.metadata, _OLD_CLASS)


def find_default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """Return the default storage class, the newest of several, or None."""
    defaults = [one for one in classes if any(annotation(one.metadata, key) == "true" for key in DEFAULT_CLASS)]
    return max(defaults, key=_age, default=None)


def _age(one: StorageClass) -> tuple[str, str]:
    metadata = one.metadata or ObjectMeta()
    return metadata.creation_timestamp or "", metadata.name or ""


def waits_for_consumer(claim: PersistentVolumeClaim, of: StorageClass, *, has_consumer: bool) -> bool:
    """Return True if the claim must wait for its first consumer."""
    if of.volume_binding_mode != WAITS or has_consumer:
        return False
    return annotation(claim.metadata, BIND_NOW) is None and annotation(claim.metadata, SELECTED_NODE) is None


def annotation(metadata: ObjectMeta | None, key: str) -> str | None:
    """Return the value of an annotation, or None."""
    return ((metadata.annotations if metadata else None) or {}).get(key)

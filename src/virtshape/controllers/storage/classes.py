"""
Storage classes: which one a claim is of, and what the class says about its volumes.

Pure.
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
    """The class that a claim names: empty for none, None if it leaves it open."""
    stated = claim.spec.storage_class_name if claim.spec else None
    return stated if stated is not None else annotation(claim.metadata, _OLD_CLASS)


def find_default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """The class of claims that leave it open: of several, the newest."""
    defaults = [one for one in classes if any(annotation(one.metadata, key) == "true" for key in DEFAULT_CLASS)]
    return max(defaults, key=_age, default=None)


def _age(one: StorageClass) -> tuple[str, str]:
    metadata = one.metadata or ObjectMeta()
    return metadata.creation_timestamp or "", metadata.name or ""


def waits_for_consumer(claim: PersistentVolumeClaim, of: StorageClass, *, has_consumer: bool) -> bool:
    """Whether a claim is not to be bound before somebody uses it."""
    if of.volume_binding_mode != WAITS or has_consumer:
        return False
    return annotation(claim.metadata, BIND_NOW) is None and annotation(claim.metadata, SELECTED_NODE) is None


def annotation(metadata: ObjectMeta | None, key: str) -> str | None:
    """What an annotation says, if it is there."""
    return ((metadata.annotations if metadata else None) or {}).get(key)

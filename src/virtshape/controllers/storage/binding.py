"""
Binding: decide which volume a claim gets, whether to provision one, or what the claim waits for.

The functions are pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.claimspec import PersistentVolumeClaimSpec
from virtshape.api.core.persistentvolume import PersistentVolume, PersistentVolumeSpec
from virtshape.api.meta import find_annotation
from virtshape.api.quantity import Quantity
from virtshape.api.storage import StorageClass
from virtshape.api.wellknown import BIND_COMPLETED, BIND_NOW, SELECTED_NODE
from virtshape.engine.claims import claim_mode, class_name, find_default_class, is_for, requested_size, volume_size

WAITS: Final = "WaitForFirstConsumer"


class Bind(Struct, frozen=True):
    """Bind the claim to an existing volume."""

    volume: str


class Provision(Struct, frozen=True):
    """Provision a volume with this storage class."""

    of: StorageClass


class Lost(Struct, frozen=True):
    """Report that the claim has lost its volume."""

    message: str


class Wait(Struct, frozen=True):
    """Wait, and report the reason in an event."""

    reason: str
    message: str
    warning: bool = True


Step = Bind | Provision | Lost | Wait


def decide_binding(
    claim: PersistentVolumeClaim,
    classes: Sequence[StorageClass],
    volumes: Mapping[str, PersistentVolume],
    provisioner: str,
    *,
    has_consumer: bool,
) -> Step:
    """Return the next step for a claim; `provisioner` is the name of virtshape's own provisioner."""
    spec = claim.spec or PersistentVolumeClaimSpec()
    if spec.volume_name:
        return _decide_named(claim, spec.volume_name, volumes)
    if claim.status is not None and claim.status.phase == "Bound":
        return Lost("the claim was bound by simulated storage and has no volume: delete and recreate it")
    reserved = next((name for name, one in volumes.items() if is_for(one, claim)), None)
    if reserved is not None:
        return Bind(reserved)
    if requested_size(claim) is None:
        return Wait("FailedBinding", "the claim requests no size: set spec.resources.requests.storage")
    if not spec.access_modes:
        return Wait("FailedBinding", "the claim requests no access mode: set spec.accessModes")
    return _decide_new(claim, spec, classes, volumes, provisioner, has_consumer=has_consumer)


def _decide_named(claim: PersistentVolumeClaim, name: str, volumes: Mapping[str, PersistentVolume]) -> Step:
    volume = volumes.get(name)
    if volume is None:
        if find_annotation(claim.metadata, BIND_COMPLETED) is not None:
            return Lost(f"the claim lost its volume {name}: the volume no longer exists")
        return Wait("FailedBinding", f"volume {name} not found; the claim refers to it in spec.volumeName")
    if not is_for(volume, claim) and volume.spec is not None and volume.spec.claim_ref is not None:
        other = volume.spec.claim_ref
        if find_annotation(claim.metadata, BIND_COMPLETED) is not None:
            return Lost(f"the claim lost its volume {name}: it is bound to {other.namespace}/{other.name}")
        message = f'volume "{name}" already bound to a different claim: {other.namespace}/{other.name}'
        return Wait("FailedBinding", message)
    return Bind(name)


def _decide_new(
    claim: PersistentVolumeClaim,
    spec: PersistentVolumeClaimSpec,
    classes: Sequence[StorageClass],
    volumes: Mapping[str, PersistentVolume],
    provisioner: str,
    *,
    has_consumer: bool,
) -> Step:
    name = class_name(claim)
    of = next((one for one in classes if one.metadata.name == name), None)
    of = of or (find_default_class(classes) if name is None else None)
    if of is not None and waits_for_consumer(claim, of, has_consumer=has_consumer):
        message = "waiting for first consumer to be created before binding"
        return Wait("WaitForFirstConsumer", message, warning=False)
    match = None if spec.data_source or spec.data_source_ref else find_match(claim, volumes.values())
    if match is not None:
        return Bind(match.metadata.name or "")
    if of is None and name:
        return Wait("ProvisioningFailed", f'storageclass.storage.k8s.io "{name}" not found')
    if of is None:
        why = "no storage class is set" if name == "" else "there is no default storage class"
        return Wait("FailedBinding", f"no persistent volumes available for this claim and {why}", warning=False)
    if of.provisioner != provisioner:
        wanted = f"waiting for {of.provisioner} or an administrator to create a volume"
        message = f"{wanted}: {provisioner} does not provision this storage class"
        return Wait("ExternalProvisioning", message, warning=False)
    if spec.selector is not None:
        return Wait(
            "ProvisioningFailed",
            "no existing volume matches spec.selector; volumes are not provisioned for claims with a selector",
        )
    return Provision(of)


def find_match(claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume]) -> PersistentVolume | None:
    """Return the smallest available volume that satisfies the claim, or None."""
    fitting = [volume for volume in volumes if _fits(claim, volume)]
    return min(fitting, key=lambda volume: (volume_size(volume), volume.metadata.name), default=None)


def _fits(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    asked, offered = claim.spec or PersistentVolumeClaimSpec(), volume.spec or PersistentVolumeSpec()
    metadata = volume.metadata
    is_free = offered.claim_ref is None and metadata.deletion_timestamp is None
    return (
        is_free
        and volume.status is not None
        and volume.status.phase == "Available"
        and (offered.storage_class_name or "") == (class_name(claim) or "")
        and (offered.volume_mode or "Filesystem") == claim_mode(claim)
        and set(asked.access_modes or ()) <= set(offered.access_modes or ())
        and volume_size(volume) >= (requested_size(claim) or Quantity("0")).value()
        and (asked.selector is None or asked.selector.matches(metadata.labels or {}))
    )


def waits_for_consumer(claim: PersistentVolumeClaim, of: StorageClass, *, has_consumer: bool) -> bool:
    """Return True if the claim must wait for its first consumer."""
    if of.volume_binding_mode != WAITS or has_consumer:
        return False
    return find_annotation(claim.metadata, BIND_NOW) is None and find_annotation(claim.metadata, SELECTED_NODE) is None

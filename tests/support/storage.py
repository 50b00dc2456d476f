"""
Claims, DataVolumes and their sources for tests with real storage.

Objects are plain JSON.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tests.support.controllers import ControlledSystem
from tests.support.waiting import eventually

from virtshape.api.cdi import DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.event import Event
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.model import JsonObject, Model
from virtshape.client.resources import metadata_of

T = TypeVar("T", bound=Model)
MIB = 1 << 20


def claim_tree(name: str = "c1", size: str = "8Mi", *, metadata: JsonObject | None = None, **spec: Any) -> JsonObject:
    """Return a ReadWriteOnce claim of the default class."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", **(metadata or {})},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec},
    }


def volume_tree(
    name: str = "dv1", size: str | None = "8Mi", *, metadata: JsonObject | None = None, **spec: Any
) -> JsonObject:
    """Return a DataVolume, blank by default."""
    storage: JsonObject = {"resources": {"requests": {"storage": size}}} if size else {}
    if "source" not in spec and "sourceRef" not in spec:
        spec["source"] = {"blank": {}}
    return {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {"name": name, "namespace": "default", **(metadata or {})},
        "spec": {"storage": storage, **spec},
    }


def class_tree(name: str, **fields: Any) -> JsonObject:
    """Return a storage class of the local provisioner."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "virtshape.io/local",
        **fields,
    }


def instance_tree(name: str = "vmi1", claim: str = "c1", **volume: Any) -> JsonObject:
    """Return an instance with one disk, on a claim by default."""
    source = volume or {"persistentVolumeClaim": {"claimName": claim}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "domain": {"devices": {"disks": [{"name": "disk", "disk": {}}]}, "memory": {"guest": "128Mi"}},
            "volumes": [{"name": "disk", **source}],
        },
    }


async def wait_until(
    system: ControlledSystem, kind: type[T], name: str, holds: Callable[[T], object], namespace: str = "default"
) -> T:
    """Wait until an object satisfies a condition, and return it."""
    last: T | None = None

    async def probe() -> T | None:
        nonlocal last
        last = await system.find(kind, name, namespace)
        return last if last is not None and holds(last) else None

    try:
        return await eventually(probe, "")
    except AssertionError:
        raise AssertionError(f"{kind.__name__} {name} never satisfied the condition: {last}") from None


async def wait_for_claim(system: ControlledSystem, name: str = "c1", phase: str = "Bound") -> PersistentVolumeClaim:
    """Wait until a claim is in a phase, and return it."""
    return await wait_until(
        system, PersistentVolumeClaim, name, lambda claim: claim.status and claim.status.phase == phase
    )


async def wait_for_volume(system: ControlledSystem, name: str = "dv1", phase: str = "Succeeded") -> DataVolume:
    """Wait until a DataVolume is in a phase, and return it."""
    return await wait_until(system, DataVolume, name, lambda volume: volume.status and volume.status.phase == phase)


async def find_persistent_volume(system: ControlledSystem, claim: str = "c1") -> PersistentVolume:
    """Return the volume that a claim is bound to."""
    found = await system.client.get(PersistentVolumeClaim, claim, "default")
    assert found.spec is not None
    return await system.client.get(PersistentVolume, found.spec.volume_name or "")


async def find_image(system: ControlledSystem, claim: str = "c1") -> Path:
    """Return the path of the disk image of a claim."""
    assert system.directory is not None
    volume = await find_persistent_volume(system, claim)
    return system.directory / "volumes" / (metadata_of(volume).name or "") / "disk.img"


async def wait_for_event(system: ControlledSystem, name: str, reason: str) -> str:
    """Wait for an event about an object, and return its message."""

    async def probe() -> str | None:
        events = (await system.client.list(Event, "default")).items
        found = [one for one in events if one.involved_object.name == name and one.reason == reason]
        return (found[-1].message or "") if found else None

    return await eventually(probe, f"no event {reason} about {name}")


async def wait_briefly(seconds: float = 0.3) -> None:
    """Wait long enough for the controllers to perform an action that the test expects not to happen."""
    await asyncio.sleep(seconds)

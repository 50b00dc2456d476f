"""
Named disk images: each image has a DataVolume with its content, and a DataSource with its defaults.

The DataSource's label marks it as an image.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Literal, TypeVar

from msgspec import Struct

from virtshape.api.cdi import (
    DataSource,
    DataSourceSource,
    DataSourceSpec,
    DataVolume,
    DataVolumeSource,
    DataVolumeSourceHTTP,
    DataVolumeSourcePVC,
    DataVolumeSourceRegistry,
    DataVolumeSourceUpload,
    DataVolumeSpec,
    StorageSpec,
)
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.claimspec import VolumeResourceRequirements
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Model
from virtshape.api.quantity import Quantity
from virtshape.api.status import StatusError
from virtshape.api.wellknown import BIND_NOW
from virtshape.client.protocol import Client
from virtshape.client.resources import metadata_of
from virtshape.launcher.images.clone import copy_file
from virtshape.resolve.infer import KIND_KEYS, NAME_KEYS, InferredRole, read_key
from virtshape.standalone.storage.layout import Layout

T = TypeVar("T", bound=Model)

IMAGE_LABEL: Final = "virtshape.io/image"
POLL_SECONDS: Final = 0.2
Stage = Literal["copying", "importing"]
ReportProgress = Callable[[Stage, float], None]
"""A function that is called while an image is added, with the current stage and its progress in percent."""


class Default(Struct, frozen=True):
    """The default instance type or preference of an image; cluster-wide if it has no kind."""

    name: str
    kind: str = ""


class NewImage(Struct, frozen=True, kw_only=True):
    """An image to add."""

    name: str
    namespace: str
    file: Path | None = None
    url: str = ""
    checksum: str = ""
    size: Quantity | None = None
    defaults: dict[InferredRole, Default] = {}


class Image(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """An image that exists or is being imported."""

    name: str
    namespace: str
    status: str
    size: str = ""
    default_instancetype: str = ""
    default_instancetype_kind: str = ""
    default_preference: str = ""
    default_preference_kind: str = ""
    created: str = ""


class ImageError(Exception):
    """An image could not be added or removed."""


def build_image(wanted: NewImage) -> tuple[DataVolume, DataSource]:
    """Return the DataVolume and the DataSource of an image."""
    labels, annotations = {IMAGE_LABEL: "true"}, {}
    for role, default in wanted.defaults.items():
        for keys, text in ((NAME_KEYS[role], default.name), (KIND_KEYS[role], default.kind)):
            if text:
                labels[keys.label] = annotations[keys.annotation] = text
    resources = VolumeResourceRequirements(requests={"storage": wanted.size}) if wanted.size is not None else None
    volume = DataVolume(
        api_version="cdi.kubevirt.io/v1beta1",
        kind="DataVolume",
        metadata=ObjectMeta(
            name=wanted.name,
            namespace=wanted.namespace,
            labels=labels,
            annotations={**annotations, BIND_NOW: "true"},
        ),
        spec=DataVolumeSpec(source=_build_source(wanted), storage=StorageSpec(resources=resources)),
    )
    origin = DataSourceSource(pvc=DataVolumeSourcePVC(name=wanted.name, namespace=wanted.namespace))
    source = DataSource(
        api_version="cdi.kubevirt.io/v1beta1",
        kind="DataSource",
        metadata=ObjectMeta(
            name=wanted.name, namespace=wanted.namespace, labels=dict(labels), annotations=annotations or None
        ),
        spec=DataSourceSpec(source=origin),
    )
    return volume, source


def _build_source(wanted: NewImage) -> DataVolumeSource:
    if wanted.file is not None:
        return DataVolumeSource(upload=DataVolumeSourceUpload())
    if wanted.url.startswith("docker://"):
        return DataVolumeSource(registry=DataVolumeSourceRegistry(url=wanted.url))
    return DataVolumeSource(http=DataVolumeSourceHTTP(url=wanted.url, checksum=wanted.checksum or None))


async def add_image(client: Client, directory: Path, wanted: NewImage, report_progress: ReportProgress) -> Image:
    """Add an image and wait until it is ready; on failure, delete what was created."""
    volume, source = build_image(wanted)
    made: list[Model] = []
    try:
        made.append(source := await client.create(source))
        made.append(volume := await client.create(volume))
        if wanted.file is not None:
            await stage_upload(Layout(directory), wanted.file, metadata_of(volume).uid or "", report_progress)
        await _await_volume(client, wanted, report_progress)
    except BaseException:
        await asyncio.shield(_discard(client, made))
        raise
    return await describe_image(client, source)


async def stage_upload(layout: Layout, file: Path, key: str, report_progress: ReportProgress) -> None:
    """Copy a file into the uploads directory under a temporary name; rename the complete copy to the job's key."""
    target = layout.upload(key)
    partial = target.with_name(f".{key}.partial")

    def copy() -> None:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy_file(file, partial, lambda done, total: report_progress("copying", 100 * done / total if total else 0))
        partial.rename(target)

    try:
        await asyncio.to_thread(copy)
    finally:
        partial.unlink(missing_ok=True)


async def _await_volume(client: Client, wanted: NewImage, report_progress: ReportProgress) -> None:
    while True:
        status = (await client.get(DataVolume, wanted.name, wanted.namespace)).status
        phase = status.phase if status is not None else None
        if phase == "Succeeded":
            return
        conditions = (status.conditions if status is not None else None) or []
        running = next((one for one in conditions if one.type == "Running"), None)
        if phase == "Failed" or (status is not None and status.restart_count):
            raise ImageError((running.message if running is not None else None) or "importing the image failed")
        progress = (status.progress if status is not None else None) or ""
        report_progress("importing", float(progress.removesuffix("%")) if progress.endswith("%") else 0)
        await asyncio.sleep(POLL_SECONDS)


async def _discard(client: Client, made: Iterable[Model]) -> None:
    for item in made:
        metadata = metadata_of(item)
        with contextlib.suppress(StatusError):
            await client.delete(type(item), metadata.name or "", metadata.namespace or "", uid=metadata.uid or "")


async def list_images(client: Client, namespace: str = "") -> list[Image]:
    """Return the DataSources in a namespace, or in all namespaces, as images."""
    found = await client.list(DataSource, namespace)
    return [await describe_image(client, source) for source in found.items]


async def describe_image(client: Client, source: DataSource) -> Image:
    """Return the state of an image."""
    metadata = metadata_of(source)
    name, namespace = metadata.name or "", metadata.namespace or ""
    volume = await _find(client, DataVolume, name, namespace)
    origin = source.spec.source.pvc
    claim = await _find(client, PersistentVolumeClaim, origin.name, origin.namespace) if origin is not None else None
    capacity = (claim.status.capacity if claim is not None and claim.status is not None else None) or {}
    return Image(
        name=name,
        namespace=namespace,
        status=_describe_status(source, volume),
        size=capacity.get("storage", ""),
        created=metadata.creation_timestamp or "",
        **_read_defaults(metadata, claim.metadata if claim is not None else None),
    )


def _describe_status(source: DataSource, volume: DataVolume | None) -> str:
    if volume is not None and volume.status is not None and volume.status.phase != "Succeeded":
        progress = volume.status.progress or ""
        return f"{volume.status.phase} {progress}".strip() if progress.endswith("%") else volume.status.phase or ""
    conditions = (source.status.conditions if source.status is not None else None) or []
    ready = next((one for one in conditions if one.type == "Ready"), None)
    if ready is None:
        return "Ready" if volume is not None and volume.status is not None else "Pending"
    return "Ready" if ready.status == "True" else ready.reason or "NotReady"


def _read_defaults(source: ObjectMeta, claim: ObjectMeta | None) -> dict[str, str]:
    """Return the default instance type and preference of the DataSource; missing defaults are read from its claim."""
    found = {}
    for role, names in NAME_KEYS.items():
        read_from = source if read_key(source, names) or claim is None else claim
        found[f"default_{role}"] = read_key(read_from, names) or ""
        found[f"default_{role}_kind"] = read_key(read_from, KIND_KEYS[role]) or ""
    return found


async def remove_image(client: Client, name: str, namespace: str) -> None:
    """Delete an image; raise ImageError if the DataSource was not added as an image."""
    source = await client.get(DataSource, name, namespace)
    if IMAGE_LABEL not in (metadata_of(source).labels or {}):
        raise ImageError(f"DataSource {namespace}/{name} is not an image: it was not added with `virtshape image add`")
    await client.delete(DataSource, name, namespace)
    with contextlib.suppress(StatusError):
        await client.delete(DataVolume, name, namespace)


async def _find(client: Client, kind: type[T], name: str, namespace: str) -> T | None:
    try:
        return await client.get(kind, name, namespace)
    except StatusError as error:
        if error.code != 404:
            raise
        return None

"""
Where the data of a new volume can come from: one class per type of import.

The fields of a class are the parameters of its type; nothing is fetched here.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from virtshape.api.cdi import (
    DataVolumeBlankImage,
    DataVolumeSource,
    DataVolumeSourceGCS,
    DataVolumeSourceHTTP,
    DataVolumeSourceImageIO,
    DataVolumeSourcePVC,
    DataVolumeSourceRef,
    DataVolumeSourceRegistry,
    DataVolumeSourceS3,
    DataVolumeSourceSnapshot,
    DataVolumeSourceVDDK,
    DataVolumeSpec,
)
from virtshape.api.quantity import Quantity
from virtshape.cli.create.parameters import Label, ParameterError, needed, split_name


@dataclass(frozen=True, kw_only=True)
class Import(ABC):
    """What every import has; the volume may be larger than its data."""

    type: str
    name: Label | None = None
    size: Quantity | None = None
    bootorder: int | None = None

    @abstractmethod
    def spec(self) -> DataVolumeSpec:
        """Describe the source."""


@dataclass(frozen=True, kw_only=True)
class SizedImport(Import):
    """An import whose source does not tell how large the volume has to be."""

    size: Quantity = needed()  # noqa: RUF009 - makes a field, no value


@dataclass(frozen=True, kw_only=True)
class Blank(SizedImport):
    """An empty disk."""

    def spec(self) -> DataVolumeSpec:
        """Describe the source."""
        return DataVolumeSpec(source=DataVolumeSource(blank=DataVolumeBlankImage()))


@dataclass(frozen=True, kw_only=True)
class GCS(SizedImport):
    """An image in Google Cloud Storage."""

    url: str = needed()
    secretref: str | None = None

    def spec(self) -> DataVolumeSpec:
        """Describe the source."""
        return DataVolumeSpec(source=DataVolumeSource(gcs=DataVolumeSourceGCS(self.url, self.secretref)))


@dataclass(frozen=True, kw_only=True)
class HTTP(SizedImport):
    """An image behind a URL; several headers are separated by semicolons."""

    url: str = needed()
    secretref: str | None = None
    certconfigmap: str | None = None
    extraheaders: list[str] | None = None
    secretextraheaders: list[str] | None = None

    def spec(self) -> DataVolumeSpec:
        """Describe the source."""
        source = DataVolumeSourceHTTP(
            url=self.url,
            secret_ref=self.secretref,
            cert_config_map=self.certconfigmap,
            extra_headers=self.extraheaders,
            secret_extra_headers=self.secretextraheaders,
        )
        return DataVolumeSpec(source=DataVolumeSource(http=source))


@dataclass(frozen=True, kw_only=True)
class ImageIO(SizedImport):
    """A disk of oVirt."""

    url: str = needed()
    diskid: str = needed()
    secretref: str | None = None
    certconfigmap: str | None = None

    def spec(self) -> DataVolumeSpec:
        """Describe the source."""
        source = DataVolumeSourceImageIO(
            url=self.url, disk_id=self.diskid, secret_ref=self.secretref, cert_config_map=self.certconfigmap
        )
        return DataVolumeSpec(source=DataVolumeSource(imageio=source))


@dataclass(frozen=True, kw_only=True)
class PVC(Import):
    """A clone of a PersistentVolumeClaim."""

    src: str = needed()

    def spec(self) -> DataVolumeSpec:
        """Describe the source."""
        namespace, name = _split_source(self.src, "PVC")
        return DataVolumeSpec(source=DataVolumeSource(pvc=DataVolumeSourcePVC(name=name, namespace=namespace)))


@dataclass(frozen=True, kw_only=True)
class Registry(SizedImport):
    """An image of a container registry, by its URL or by an image stream."""

    url: str | None = None
    imagestream: str | None = None
    pullmethod: str | None = None
    secretref: str | None = None
    certconfigmap: str | None = None

    def spec(self) -> DataVolumeSpec:
        """Describe the source."""
        problems = []
        if (self.url is None) == (self.imagestream is None):
            problems.append("give either url or imagestream")
        if self.pullmethod not in (None, "pod", "node"):
            problems.append(f'pullmethod: "{self.pullmethod}" is neither pod nor node')
        if problems:
            raise ParameterError(*problems)
        source = DataVolumeSourceRegistry(
            url=self.url,
            image_stream=self.imagestream,
            pull_method=self.pullmethod,
            secret_ref=self.secretref,
            cert_config_map=self.certconfigmap,
        )
        return DataVolumeSpec(source=DataVolumeSource(registry=source))


@dataclass(frozen=True, kw_only=True)
class S3(SizedImport):
    """An image in S3."""

    url: str = needed()
    secretref: str | None = None
    certconfigmap: str | None = None

    def spec(self) -> DataVolumeSpec:
        """Describe the source."""
        source = DataVolumeSourceS3(url=self.url, secret_ref=self.secretref, cert_config_map=self.certconfigmap)
        return DataVolumeSpec(source=DataVolumeSource(s3=source))


@dataclass(frozen=True, kw_only=True)
class VDDK(SizedImport):
    """A disk of VMware."""

    url: str = needed()
    uuid: str = needed()
    thumbprint: str = needed()
    secretref: str = needed()
    backingfile: str = needed()
    initimageurl: str | None = None

    def spec(self) -> DataVolumeSpec:
        """Describe the source."""
        source = DataVolumeSourceVDDK(
            url=self.url,
            uuid=self.uuid,
            thumbprint=self.thumbprint,
            secret_ref=self.secretref,
            backing_file=self.backingfile,
            init_image_url=self.initimageurl,
        )
        return DataVolumeSpec(source=DataVolumeSource(vddk=source))


@dataclass(frozen=True, kw_only=True)
class Snapshot(Import):
    """A volume made from a VolumeSnapshot."""

    src: str = needed()

    def spec(self) -> DataVolumeSpec:
        """Describe the source."""
        namespace, name = _split_source(self.src, "snapshot")
        source = DataVolumeSourceSnapshot(name=name, namespace=namespace)
        return DataVolumeSpec(source=DataVolumeSource(snapshot=source))


@dataclass(frozen=True, kw_only=True)
class ReferencedSource(Import):
    """What a DataSource points at; one of the VM's own namespace if none is given."""

    src: str = needed()

    def spec(self) -> DataVolumeSpec:
        """Describe the source."""
        namespace, name = split_name(self.src)
        reference = DataVolumeSourceRef(kind="DataSource", name=name, namespace=namespace or None)
        return DataVolumeSpec(source_ref=reference)


TYPES: dict[str, type[Import]] = {
    "blank": Blank,
    "gcs": GCS,
    "http": HTTP,
    "imageio": ImageIO,
    "pvc": PVC,
    "registry": Registry,
    "s3": S3,
    "vddk": VDDK,
    "snapshot": Snapshot,
    "ds": ReferencedSource,
}


def _split_source(src: str, kind: str) -> tuple[str, str]:
    namespace, name = split_name(src)
    if not namespace:
        raise ParameterError(f'src: the namespace of the {kind} "{name}" must be given, as in src:default/{name}')
    return namespace, name

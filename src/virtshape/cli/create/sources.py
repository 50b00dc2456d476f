"""The types of `--volume-import`: one class per type, whose fields are its parameters."""

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
from virtshape.cli.create.parameters import Label, ParameterError, required, split_name


@dataclass(frozen=True, kw_only=True)
class Import(ABC):
    """Parameters of every import."""

    type: str
    name: Label | None = None
    size: Quantity | None = None
    bootorder: int | None = None

    @abstractmethod
    def spec(self) -> DataVolumeSpec:
        """Return the DataVolume spec."""


@dataclass(frozen=True, kw_only=True)
class SizedImport(Import):
    """An import that requires a size, because its source has none."""

    size: Quantity = required()  # noqa: RUF009 - returns a field, not a value


@dataclass(frozen=True, kw_only=True)
class Blank(SizedImport):
    """An empty disk."""

    def spec(self) -> DataVolumeSpec:
        """Return the DataVolume spec."""
        return DataVolumeSpec(source=DataVolumeSource(blank=DataVolumeBlankImage()))


@dataclass(frozen=True, kw_only=True)
class GCS(SizedImport):
    """An image in Google Cloud Storage."""

    url: str = required()
    secretref: str | None = None

    def spec(self) -> DataVolumeSpec:
        """Return the DataVolume spec."""
        return DataVolumeSpec(source=DataVolumeSource(gcs=DataVolumeSourceGCS(self.url, self.secretref)))


@dataclass(frozen=True, kw_only=True)
class HTTP(SizedImport):
    """An image at a URL; headers are separated by semicolons."""

    url: str = required()
    secretref: str | None = None
    certconfigmap: str | None = None
    extraheaders: list[str] | None = None
    secretextraheaders: list[str] | None = None

    def spec(self) -> DataVolumeSpec:
        """Return the DataVolume spec."""
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
    """An oVirt disk."""

    url: str = required()
    diskid: str = required()
    secretref: str | None = None
    certconfigmap: str | None = None

    def spec(self) -> DataVolumeSpec:
        """Return the DataVolume spec."""
        source = DataVolumeSourceImageIO(
            url=self.url, disk_id=self.diskid, secret_ref=self.secretref, cert_config_map=self.certconfigmap
        )
        return DataVolumeSpec(source=DataVolumeSource(imageio=source))


@dataclass(frozen=True, kw_only=True)
class PVC(Import):
    """A clone of a PersistentVolumeClaim."""

    src: str = required()

    def spec(self) -> DataVolumeSpec:
        """Return the DataVolume spec."""
        namespace, name = _split_source(self.src, "PVC")
        return DataVolumeSpec(source=DataVolumeSource(pvc=DataVolumeSourcePVC(name=name, namespace=namespace)))


@dataclass(frozen=True, kw_only=True)
class Registry(SizedImport):
    """An image in a container registry, by URL or image stream."""

    url: str | None = None
    imagestream: str | None = None
    pullmethod: str | None = None
    secretref: str | None = None
    certconfigmap: str | None = None

    def spec(self) -> DataVolumeSpec:
        """Return the DataVolume spec."""
        problems = []
        if (self.url is None) == (self.imagestream is None):
            problems.append("exactly one of url and imagestream is required")
        if self.pullmethod not in (None, "pod", "node"):
            problems.append(f'pullmethod: invalid value "{self.pullmethod}": must be pod or node')
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

    url: str = required()
    secretref: str | None = None
    certconfigmap: str | None = None

    def spec(self) -> DataVolumeSpec:
        """Return the DataVolume spec."""
        source = DataVolumeSourceS3(url=self.url, secret_ref=self.secretref, cert_config_map=self.certconfigmap)
        return DataVolumeSpec(source=DataVolumeSource(s3=source))


@dataclass(frozen=True, kw_only=True)
class VDDK(SizedImport):
    """A VMware disk."""

    url: str = required()
    uuid: str = required()
    thumbprint: str = required()
    secretref: str = required()
    backingfile: str = required()
    initimageurl: str | None = None

    def spec(self) -> DataVolumeSpec:
        """Return the DataVolume spec."""
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

    src: str = required()

    def spec(self) -> DataVolumeSpec:
        """Return the DataVolume spec."""
        namespace, name = _split_source(self.src, "snapshot")
        source = DataVolumeSourceSnapshot(name=name, namespace=namespace)
        return DataVolumeSpec(source=DataVolumeSource(snapshot=source))


@dataclass(frozen=True, kw_only=True)
class ReferencedSource(Import):
    """The source that a DataSource refers to; the DataSource is in the VM's namespace unless another one is given."""

    src: str = required()

    def spec(self) -> DataVolumeSpec:
        """Return the DataVolume spec."""
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
        raise ParameterError(f'src: the namespace of the {kind} "{name}" is required, as in src:default/{name}')
    return namespace, name

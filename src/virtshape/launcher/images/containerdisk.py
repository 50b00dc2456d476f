"""
Get disk images and other files from container images, by image reference.

A reference may be mapped to a local file or bundle; registries are used only if allowed. Images from registries and
bundles are inspected and then cached by digest.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, Literal, NamedTuple

from virtshape.launcher.images.bundle import ImageContent, is_bundle, open_bundle, read_config, read_content
from virtshape.launcher.images.cache import Cache, ContainerDisk, NameRecord, hash_credentials
from virtshape.launcher.images.errors import RefusedImageError, TransferError
from virtshape.launcher.images.imageconfig import ImageConfig, parse_image_config
from virtshape.launcher.images.inspection import inspect_image
from virtshape.launcher.images.layers import OpenLayer, extract, find_layer_limit
from virtshape.launcher.images.manifest import Layer
from virtshape.launcher.images.progress import Progress, ignore
from virtshape.launcher.images.reference import Reference, parse_reference
from virtshape.launcher.images.registry import Registry
from virtshape.launcher.images.web import Access

Policy = Literal["Always", "IfNotPresent", "Never"]
DISKS: Final = "/disk"
_ANONYMOUS: Final = Access()


class _OpenImage(NamedTuple):
    """An image: its content, functions to read its layers and configuration, and whether credentials were used."""

    content: ImageContent
    open_layer: OpenLayer
    read_config: Callable[[Layer], bytes]
    is_private: bool = False


class ContainerImages:
    """The container images available on this host."""

    def __init__(
        self,
        directory: Path,
        *,
        files: Mapping[str, str] | None = None,
        from_registries: bool = True,
        plain_registries: Collection[str] = (),
        networks: tuple[str, ...] = (),
        limit: int | None = None,
    ) -> None:
        """
        Cache images in a directory.

        `files` maps image references to local disk images, OCI layouts or archives. `plain_registries` use HTTP.
        `networks` are non-public networks that downloads may connect to. `limit` is the maximum size of a disk or
        layer in bytes.
        """
        self._cache = Cache(directory)
        self._files = {parse_reference(name): Path(path) for name, path in (files or {}).items()}
        self._from_registries = from_registries
        self._plain = plain_registries
        self._networks = networks
        self._limit = limit

    def find_disk(
        self, image: str, path: str = "", architecture: str = "amd64", access: Access = _ANONYMOUS
    ) -> ContainerDisk | None:
        """Return a cached disk that these credentials grant access to, or None, without using the network."""
        known = self._cache.find_name(_name(parse_reference(image), architecture))
        if known is None or not known.allows(access.user, access.password):
            return None
        return self._cache.find_disk(known.digest, path)

    def fetch_disk(
        self,
        image: str,
        path: str = "",
        *,
        policy: Policy | None = None,
        access: Access = _ANONYMOUS,
        architecture: str = "amd64",
        limit: int | None = None,
        progress: Progress = ignore,
    ) -> ContainerDisk:
        """
        Return the disk at a path in an image, or the only one in `/disk`; `policy` is the image pull policy.

        A cached image that was pulled with credentials is used if the caller has the same credentials; otherwise, the
        registry is asked for the manifest again. `limit` is the maximum size of the disk in bytes.
        """
        reference = parse_reference(image)
        local = self._files.get(reference)
        if local is not None and not local.exists():
            raise TransferError(f"image {image} is configured as {local}, which does not exist")
        if local is not None and not is_bundle(local):
            return _use_file(image, local)
        policy = policy or ("Always" if reference.is_latest else "IfNotPresent")
        if local is None and policy != "Always" and (found := self.find_disk(image, path, architecture, access)):
            return found
        if local is None and policy == "Never":
            raise TransferError(
                f"image {image} is not present or was pulled with other credentials, and its pull policy is Never"
            )
        limit = min((one for one in (limit, self._limit) if one is not None), default=None)
        with self._open(image, access, architecture, limit, progress) as opened:
            content = opened.content
            disk = self._cache.find_disk(content.digest, path)
            if disk is None:
                disk = self._take_disk(content, opened.open_layer, path, limit, progress)
            used = hash_credentials(access.user, access.password) if opened.is_private else ""
            self._cache.set_name(NameRecord(_name(reference, architecture), content.digest, used))
        return disk

    def fetch_config(
        self,
        image: str,
        *,
        policy: Policy | None = None,
        access: Access = _ANONYMOUS,
        architecture: str = "amd64",
        progress: Progress = ignore,
    ) -> ImageConfig:
        """
        Return the configuration of an image (empty for a local disk image), without fetching its layers.

        If the image was pulled with these credentials, the pulled version is read, unless the policy is Always, which
        is the default for the tag `latest`. Otherwise the current version is read.
        """
        reference = parse_reference(image)
        local = self._files.get(reference)
        if local is not None and not is_bundle(local):
            return ImageConfig()
        policy = policy or ("Always" if reference.is_latest else "IfNotPresent")
        known = self._cache.find_name(_name(reference, architecture)) if local is None and policy != "Always" else None
        if known is None or not known.allows(access.user, access.password):
            return self._read_config(image, access, architecture, progress)
        config = self._cache.find_config(known.digest)
        if config is None:
            pinned = str(reference._replace(tag="", digest=known.digest))
            config = self._read_config(pinned, access, architecture, progress)
            self._cache.keep_config(known.digest, config)
        return config

    def _read_config(self, image: str, access: Access, architecture: str, progress: Progress) -> ImageConfig:
        with self._open(image, access, architecture, self._limit, progress) as opened:
            config = opened.content.config
            return parse_image_config(opened.read_config(config)) if config is not None else ImageConfig()

    def fetch_files(
        self,
        image: str,
        paths: Collection[str],
        *,
        access: Access = _ANONYMOUS,
        architecture: str = "amd64",
        progress: Progress = ignore,
    ) -> Path:
        """Return a directory with files of an image, such as a kernel and initrd, under their paths in the image."""
        with (
            self._open(image, access, architecture, self._limit, progress) as (content, open_layer, _, _),
            self._cache.lock(content.digest, progress) as scratch,
        ):
            kept = self._cache.find_files(content.digest, paths)
            if kept is not None:
                return kept
            found = extract(content.layers, open_layer, set(paths).__contains__, scratch, self._limit, progress)
            missing = set(paths) - {one.name for one in found}
            if missing:
                raise RefusedImageError(f"the container image has no file {', '.join(sorted(missing))}")
            return self._cache.keep_files(content.digest, found, scratch)

    def prune(self, limit: int, list_paths_in_use: Callable[[], Iterable[str]]) -> None:
        """Remove images that are not in use, least recently used first, until the cache has at most `limit` bytes."""
        self._cache.prune(limit, list_paths_in_use)

    def _take_disk(
        self, content: ImageContent, open_layer: OpenLayer, path: str, limit: int | None, progress: Progress
    ) -> ContainerDisk:
        with self._cache.lock(content.digest, progress) as scratch:
            disk = self._cache.find_disk(content.digest, path)  # another process may have fetched it in the meantime
            if disk is not None:
                return disk
            found = extract(content.layers, open_layer, _select(path), scratch, limit, progress)
            if len(found) != 1:
                where, names = path or DISKS, ", ".join(sorted(one.name for one in found))
                several = f"has several disks in {where}; set the path of one: {names}"
                raise RefusedImageError(f"the container image {several if found else f'has no disk in {where}'}")
            info = inspect_image(found[0].path, limit)
            return self._cache.keep_disk(content.digest, path, found[0].path, _validate_format(info.format), info.size)

    @contextmanager
    def _open(
        self, image: str, access: Access, architecture: str, limit: int | None, progress: Progress
    ) -> Iterator[_OpenImage]:
        """Open an image whose disks have at most `limit` bytes; add the image's name to error messages."""
        reference = parse_reference(image)
        local = self._files.get(reference)
        try:
            if local is not None:
                with open_bundle(local) as bundle:
                    content = read_content(bundle, architecture)
                    yield _OpenImage(content, lambda layer, _: bundle.open(layer.name), partial(read_config, bundle))
            elif self._from_registries:
                access = access._replace(networks=self._networks)
                registry = Registry(reference, access, self._plain, lambda: progress(0, None))
                content = registry.read_content(architecture)
                fetch_layer = partial(self._fetch_layer, registry, limit)
                yield _OpenImage(content, fetch_layer, registry.fetch_config, registry.is_private)
            else:
                raise TransferError(f"image {image} is not configured in config.yaml, and registries are disabled")
        except RefusedImageError as error:
            raise RefusedImageError(f"{image}: {error}") from error

    def _fetch_layer(self, registry: Registry, limit: int | None, layer: Layer, progress: Progress) -> BinaryIO:
        """Download a layer, unlink it and return the open file; an incomplete download is kept to be resumed."""
        target = self._cache.locate_layer(layer.digest)
        registry.fetch_layer(layer, target, find_layer_limit(limit), progress)
        file = target.open("rb")
        target.unlink()
        return file


def _use_file(image: str, path: Path) -> ContainerDisk:
    try:
        info = inspect_image(path, thorough=False)  # runs at every start, so the slow check is skipped
        return ContainerDisk(str(path), _validate_format(info.format), info.size)
    except RefusedImageError as error:
        raise RefusedImageError(f"{image}: {error}") from error


def _validate_format(form: str) -> Literal["raw", "qcow2"]:
    if form == "raw":
        return "raw"
    if form == "qcow2":
        return "qcow2"
    raise RefusedImageError(f"format {form} is not supported for container disks: use raw or qcow2")


def _select(path: str) -> Callable[[str], bool]:
    if path:
        return lambda name: name == path
    return lambda name: name.startswith(f"{DISKS}/") and name.count("/") == 2


def _name(reference: Reference, architecture: str) -> str:
    return f"{reference} {architecture}"

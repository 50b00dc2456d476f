"""Fetch files over HTTP and from registries into a data directory."""

from pathlib import Path

from virtshape.controllers.storage.protocol import Container, Web
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE
from virtshape.launcher.images.containerdisk import Policy
from virtshape.launcher.images.download import download
from virtshape.launcher.images.errors import RefusedImageError, TransferError
from virtshape.launcher.images.progress import Progress
from virtshape.launcher.images.web import Access
from virtshape.resolve.imagedefaults import ImageDefaults, read_image_defaults, report_unreadable
from virtshape.standalone.config import ConfigurationError, list_allowed_networks, read_configuration
from virtshape.standalone.storage.containers import open_images, prune_images
from virtshape.standalone.storage.layout import Layout


class ImageFetcher:
    """Fetches files into a data directory, and reads the defaults of container images."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def fetch_web(self, origin: Web, scratch: Path, limit: int, progress: Progress) -> Path:
        """Download a file of at most `limit` bytes into the scratch directory, and return its path."""
        target = scratch / "download"
        if not target.exists():
            networks = self._list_networks()
            access = Access(origin.headers, origin.user, origin.password, origin.authorities, networks)
            download(origin.url, target, access=access, checksum=origin.checksum, limit=limit, progress=progress)
        return target

    def _list_networks(self) -> tuple[str, ...]:
        try:
            return list_allowed_networks(read_configuration(self._layout.directory))
        except ConfigurationError as error:
            raise TransferError(str(error)) from error

    def fetch_container(self, origin: Container, limit: int, progress: Progress) -> Path:
        """
        Pull a container image and return the path of its disk image, which has at most `limit` bytes.

        Other volumes share the file, so it must not be changed or moved.
        """
        disk = open_images(self._layout).fetch_disk(
            origin.reference,
            access=_get_access(origin),
            architecture=origin.architecture or DEFAULT_ARCHITECTURE,
            limit=limit,
            progress=progress,
        )
        prune_images(self._layout)
        return Path(disk.path)

    def read_image_defaults(
        self, origin: Container, progress: Progress, *, policy: Policy | None = None
    ) -> ImageDefaults:
        """Return the default instance type and preference of a container image; the `ignored` field reports errors."""
        try:
            config = open_images(self._layout).fetch_config(
                origin.reference,
                policy=policy,
                access=_get_access(origin),
                architecture=origin.architecture or DEFAULT_ARCHITECTURE,
                progress=progress,
            )
        except (RefusedImageError, TransferError) as error:
            return report_unreadable(str(error))
        return read_image_defaults(config.environment, config.labels)


def _get_access(origin: Container) -> Access:
    return Access(user=origin.user, password=origin.password, authorities=origin.authorities)

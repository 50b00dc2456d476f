"""Options of an installation on a cluster."""

from importlib.metadata import version
from typing import Final, Literal

from msgspec import Struct

from virtshape.cluster.manifests.naming import DEFAULT_NAMESPACE

WebhookCert = Literal["self-signed", "cert-manager"]
RuntimeName = Literal["pod", "none"]

RELEASE: Final = version("virtshape")
DEFAULT_IMAGE: Final = f"virtshape:{RELEASE}"


class Options(Struct, frozen=True):
    """All options; if no launcher image is given, its name is derived from the image."""

    namespace: str = DEFAULT_NAMESPACE
    image: str = DEFAULT_IMAGE
    launcher_image: str = ""
    replicas: int = 2
    catalog: bool = False
    cdi: bool = False
    webhook_cert: WebhookCert = "self-signed"
    runtime: RuntimeName = "pod"
    service_monitor: bool = False
    with_kubevirt: bool = False

    @property
    def guest_image(self) -> str:
        """The image of launcher pods."""
        return self.launcher_image or name_launcher_image(self.image)


def name_launcher_image(image: str) -> str:
    """Return the launcher image for an image: the same name with `-launcher`, and the same tag."""
    repository, slash, last = image.partition("@")[0].rpartition("/")
    name, colon, tag = last.partition(":")
    return f"{repository}{slash}{name}-launcher{colon}{tag}"

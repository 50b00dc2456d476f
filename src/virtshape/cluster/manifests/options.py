"""What an installation on a cluster looks like: where it is, what runs it, what comes with it. Only data."""

from importlib.metadata import version
from typing import Final, Literal

from msgspec import Struct

WebhookCert = Literal["self-signed", "cert-manager"]
RuntimeName = Literal["pod", "none"]

RELEASE: Final = version("virtshape")
DEFAULT_IMAGE: Final = f"virtshape:{RELEASE}"


class Options(Struct, frozen=True):
    """All that one may choose; an empty launcher image is the one that belongs to the image."""

    namespace: str = "virtshape-system"
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
        """The image that guests run in."""
        return self.launcher_image or name_launcher_image(self.image)


def name_launcher_image(image: str) -> str:
    """The launcher's image beside this one: the same name with `-launcher`, the same tag."""
    repository, slash, last = image.partition("@")[0].rpartition("/")
    name, colon, tag = last.partition(":")
    return f"{repository}{slash}{name}-launcher{colon}{tag}"

"""Options of an installation on a cluster."""

from typing import Final, Literal

from msgspec import Struct

from virtshape.cluster.manifests.naming import DEFAULT_APISERVER_PORT, DEFAULT_CONSOLE_HOST, DEFAULT_NAMESPACE, RELEASE

WebhookCert = Literal["self-signed", "cert-manager"]
RuntimeName = Literal["pod", "none"]

DEFAULT_IMAGE: Final = f"virtshape:{RELEASE}"


class Options(Struct, frozen=True):
    """All options; if `launcher_image` is empty, the name of the launcher image is derived from `image`."""

    namespace: str = DEFAULT_NAMESPACE
    image: str = DEFAULT_IMAGE
    launcher_image: str = ""
    replicas: int = 2
    catalog: bool = False
    cdi: bool = False
    webhook_cert: WebhookCert = "self-signed"
    runtime: RuntimeName = "pod"
    service_monitor: bool = False
    console: bool = True
    console_host: str = DEFAULT_CONSOLE_HOST
    """Additional host name in the certificate of the web console."""
    with_kubevirt: bool = False
    apiserver_port: int = DEFAULT_APISERVER_PORT
    """Port of the API server's endpoints, which network policies allow in addition to the port of its Service."""

    @property
    def guest_image(self) -> str:
        """The image of launcher pods."""
        return self.launcher_image or name_launcher_image(self.image)


def name_launcher_image(image: str) -> str:
    """Return the launcher image for an image: the same name with `-launcher`, and the same tag, but no digest."""
    repository, slash, last = image.partition("@")[0].rpartition("/")
    name, colon, tag = last.partition(":")
    return f"{repository}{slash}{name}-launcher{colon}{tag}"

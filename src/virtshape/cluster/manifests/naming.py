"""Names, labels, ports and webhook paths of an installation, and the metadata of its objects."""

from importlib.metadata import version
from typing import Final, Literal

from virtshape.api.core.serviceaccount import name_account_user
from virtshape.api.model import JsonObject
from virtshape.api.wellknown import APP_NAME_LABEL, APP_PART_OF_LABEL, APP_VERSION_LABEL

Component = Literal["webhook", "controller", "apiserver", "console"]

SYSTEM: Final = "virtshape"
RELEASE: Final = version("virtshape")
REQUIRED: Final[tuple[Component, ...]] = ("webhook", "controller", "apiserver")
"""Components that are required to create and start VMs."""
SERVING: Final[tuple[Component, ...]] = ("webhook", "apiserver", "console")
"""Components that serve HTTPS."""

DEFAULT_NAMESPACE: Final = "virtshape-system"
DEFAULT_APISERVER_PORT: Final = 6443
DEFAULT_CONSOLE_HOST: Final = "localhost"
"""The host name of the web console if users access it through `kubectl port-forward`."""

MUTATE_PATH: Final = "/admit/mutate"
VALIDATE_PATH: Final = "/admit/validate"
CONVERT_PATH: Final = "/convert"

HTTPS_PORT: Final = 8443
HEALTH_PORT: Final = 8081
METRICS_PORT: Final = 8080


def name_component(component: Component) -> str:
    """Return the name of all objects of a component."""
    return f"{SYSTEM}-{component}"


def name_secret(component: Component) -> str:
    """Return the name of the Secret with the component's serving certificate."""
    return f"{name_component(component)}-tls"


def name_account(component: Component, namespace: str) -> str:
    """Return the user name of the component's service account."""
    return name_account_user(namespace, name_component(component))


def label(component: Component | None = None) -> dict[str, str]:
    """Return the labels that select the objects of one or all components; the labels are the same in every release."""
    labels = {APP_NAME_LABEL: SYSTEM, APP_PART_OF_LABEL: SYSTEM}
    return labels | ({"app.kubernetes.io/component": component} if component else {})


def label_release(component: Component | None = None) -> dict[str, str]:
    """Return the labels of an object in this release: the labels from `label`, and the version."""
    return label(component) | {APP_VERSION_LABEL: RELEASE}


def begin(
    api_version: str,
    kind: str,
    name: str,
    namespace: str = "",
    *,
    component: Component | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
) -> JsonObject:
    """Return a new object with its type, name, labels and annotations."""
    metadata: JsonObject = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = label_release(component) | (labels or {})
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}

"""Names, labels, ports and webhook paths of an installation, and the metadata of its objects."""

from typing import Final, Literal

from virtshape.api.core.serviceaccount import name_account_user
from virtshape.api.model import JsonObject

Component = Literal["webhook", "controller", "apiserver"]

SYSTEM: Final = "virtshape"
COMPONENTS: Final[tuple[Component, ...]] = ("webhook", "controller", "apiserver")

DEFAULT_NAMESPACE: Final = "virtshape-system"

MUTATE_PATH: Final = "/admit/mutate"
VALIDATE_PATH: Final = "/admit/validate"
CONVERT_PATH: Final = "/convert"

HTTPS_PORT: Final = 8443
HEALTH_PORT: Final = 8081
METRICS_PORT: Final = 8080


def name_component(component: Component) -> str:
    """Return the name that the objects of a component have."""
    return f"{SYSTEM}-{component}"


def name_secret(component: Component) -> str:
    """Return the name of the Secret with the component's serving certificate."""
    return f"{name_component(component)}-tls"


def name_account(component: Component, namespace: str) -> str:
    """Return the user name of the component's service account."""
    return name_account_user(namespace, name_component(component))


def label(component: Component | None = None) -> dict[str, str]:
    """Return the labels of all objects, or of the objects of one component."""
    labels = {"app.kubernetes.io/name": SYSTEM, "app.kubernetes.io/part-of": SYSTEM}
    return labels | ({"app.kubernetes.io/component": component} if component else {})


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
    metadata["labels"] = label(component) | (labels or {})
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}

"""Names and labels of an installation's objects, and how each of them begins. Decides nothing else."""

from typing import Any, Final, Literal

from virtshape.admission.accounts import name_user

Tree = dict[str, Any]
Component = Literal["webhook", "controller", "apiserver"]

SYSTEM: Final = "virtshape"
COMPONENTS: Final[tuple[Component, ...]] = ("webhook", "controller", "apiserver")
CONFIGURATION: Final = "kubevirt"
"""The namespace of the system's configuration, and the configuration's name in it: those that KubeVirt uses."""

HTTPS_PORT: Final = 8443
HEALTH_PORT: Final = 8081
METRICS_PORT: Final = 8080


def name_component(component: Component) -> str:
    """The name of everything that belongs to one component."""
    return f"{SYSTEM}-{component}"


def name_secret(component: Component) -> str:
    """The Secret that holds the component's serving certificate."""
    return f"{name_component(component)}-tls"


def name_account(component: Component, namespace: str) -> str:
    """The user that the component is to the API server."""
    return name_user(namespace, name_component(component))


def label(component: Component | None = None) -> dict[str, str]:
    """The labels of what belongs to the installation, or to one of its components."""
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
) -> Tree:
    """The head of an object: what it is, its name, its labels."""
    metadata: Tree = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = label(component) | (labels or {})
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}

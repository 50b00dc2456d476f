"""
The Deployment and PodDisruptionBudget of each component.

All pods comply with the restricted pod security standard.
"""

from typing import Final

from virtshape.api.model import JsonObject
from virtshape.api.wellknown import HOSTNAME_LABEL
from virtshape.cluster.manifests.certificates import SERVING
from virtshape.cluster.manifests.naming import (
    COMPONENTS,
    HEALTH_PORT,
    HTTPS_PORT,
    METRICS_PORT,
    SYSTEM,
    Component,
    begin,
    label,
    name_component,
    name_secret,
)
from virtshape.cluster.manifests.options import Options

TLS_DIRECTORY: Final = "/etc/virtshape/tls"
USER_ID: Final = 65532

_RESOURCES: Final[dict[Component, JsonObject]] = {
    "webhook": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
    "controller": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "4Gi"}},
    "apiserver": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
}
_COMMANDS: Final[dict[Component, list[str]]] = {
    "webhook": ["webhook"],
    "controller": ["controller"],
    "apiserver": ["apiserver", "--aggregated"],
}


def build_deployments(options: Options) -> list[JsonObject]:
    """Return the PriorityClass, and the Deployment and PodDisruptionBudget of each component."""
    critical = {
        **begin("scheduling.k8s.io/v1", "PriorityClass", SYSTEM),
        "value": 1_000_000_000,
        "description": "Components that are required to create and start VMs.",
    }
    return [critical, *(tree for component in COMPONENTS for tree in _build_component(component, options))]


def list_arguments(component: Component, options: Options) -> list[str]:
    """Return the command line arguments of a component."""
    arguments = [*_COMMANDS[component], f"--namespace={options.namespace}"]
    arguments += [f"--health-port={HEALTH_PORT}", f"--metrics-port={METRICS_PORT}"]
    if component in SERVING:
        arguments.append(f"--port={HTTPS_PORT}")
        is_mounted = options.webhook_cert == "cert-manager"
        arguments.append(f"--tls-dir={TLS_DIRECTORY}" if is_mounted else f"--cert-secret={name_secret(component)}")
    if component == "controller":
        arguments.append(f"--runtime={options.runtime}")
        if options.runtime == "pod":
            arguments.append(f"--launcher-image={options.guest_image}")
        if options.catalog:
            arguments.append("--catalog")
    return arguments


def _build_component(component: Component, options: Options) -> list[JsonObject]:
    name, namespace = name_component(component), options.namespace
    selector = {"matchLabels": label(component)}
    deployment = {
        **begin("apps/v1", "Deployment", name, namespace, component=component),
        "spec": {
            "replicas": options.replicas,
            "revisionHistoryLimit": 3,
            "selector": selector,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {"metadata": {"labels": label(component)}, "spec": _build_pod(component, options)},
        },
    }
    budget = {
        **begin("policy/v1", "PodDisruptionBudget", name, namespace, component=component),
        "spec": {"maxUnavailable": 1, "selector": selector, "unhealthyPodEvictionPolicy": "AlwaysAllow"},
    }
    return [deployment, budget]


def _build_pod(component: Component, options: Options) -> JsonObject:
    volumes: list[JsonObject] = [{"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}]
    if _is_mounted(component, options):
        volumes.append({"name": "tls", "secret": {"secretName": name_secret(component)}})
    return {
        "serviceAccountName": name_component(component),
        "automountServiceAccountToken": True,
        "priorityClassName": SYSTEM,
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "fsGroup": USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [_spread_over(HOSTNAME_LABEL, component)],
        "containers": [_build_container(component, options)],
        "volumes": volumes,
    }


def _build_container(component: Component, options: Options) -> JsonObject:
    ports = {"health": HEALTH_PORT, "metrics": METRICS_PORT}
    if component in SERVING:
        ports = {"https": HTTPS_PORT, **ports}
    mounts: list[JsonObject] = [{"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 - inside the container
    if _is_mounted(component, options):
        mounts.append({"name": "tls", "mountPath": TLS_DIRECTORY, "readOnly": True})
    return {
        "name": component,
        "image": options.image,
        "imagePullPolicy": "IfNotPresent",
        "args": list_arguments(component, options),
        "ports": [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in ports.items()],
        "startupProbe": _probe("/livez", period=1, failures=60),
        "livenessProbe": _probe("/livez", period=10, failures=6),
        "readinessProbe": _probe("/readyz", period=5, failures=2),
        "resources": _RESOURCES[component],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": mounts,
    }


def _is_mounted(component: Component, options: Options) -> bool:
    return component in SERVING and options.webhook_cert == "cert-manager"


def _probe(path: str, *, period: int, failures: int) -> JsonObject:
    return {
        "httpGet": {"path": path, "port": "health"},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def _spread_over(key: str, component: Component) -> JsonObject:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": label(component)},
    }

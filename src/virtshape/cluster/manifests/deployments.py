"""
The Deployment and PodDisruptionBudget of each component.

All pods comply with the restricted pod security standard.
"""

from collections.abc import Iterable
from typing import Final

from virtshape.api.model import JsonObject
from virtshape.api.wellknown import HOSTNAME_LABEL
from virtshape.cluster.manifests.certificates import list_extra_hosts
from virtshape.cluster.manifests.naming import (
    HEALTH_PORT,
    HTTPS_PORT,
    METRICS_PORT,
    REQUIRED,
    SERVING,
    SYSTEM,
    Component,
    begin,
    label,
    label_release,
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
    "console": {"requests": {"cpu": "20m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
}
_COMMANDS: Final[dict[Component, list[str]]] = {
    "webhook": ["webhook"],
    "controller": ["controller"],
    "apiserver": ["apiserver", "--aggregated"],
    "console": ["console-server"],
}


def build_priority_class() -> JsonObject:
    """Return the PriorityClass of the required components."""
    return {
        **begin("scheduling.k8s.io/v1", "PriorityClass", SYSTEM),
        "value": 1_000_000_000,
        "description": "Components that are required to create and start VMs.",
    }


def build_deployments(components: Iterable[Component], options: Options) -> list[JsonObject]:
    """Return the Deployment and PodDisruptionBudget of each component."""
    return [tree for component in components for tree in _build_component(component, options)]


def list_arguments(component: Component, options: Options) -> list[str]:
    """Return the command line arguments of a component."""
    arguments = [*_COMMANDS[component], f"--namespace={options.namespace}"]
    arguments += [f"--health-port={HEALTH_PORT}", f"--metrics-port={METRICS_PORT}"]
    if component in SERVING:
        arguments.append(f"--port={HTTPS_PORT}")
        if options.webhook_cert == "cert-manager":
            arguments.append(f"--tls-dir={TLS_DIRECTORY}")
        else:
            arguments.append(f"--cert-secret={name_secret(component)}")
            arguments += [f"--host={host}" for host in list_extra_hosts(component, options)]
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
            **_plan_rollout(component, options),
            "revisionHistoryLimit": 3,
            "selector": selector,
            "template": {"metadata": {"labels": label_release(component)}, "spec": _build_pod(component, options)},
        },
    }
    budget = {
        **begin("policy/v1", "PodDisruptionBudget", name, namespace, component=component),
        "spec": {"maxUnavailable": 1, "selector": selector, "unhealthyPodEvictionPolicy": "AlwaysAllow"},
    }
    return [deployment, budget]


def _plan_rollout(component: Component, options: Options) -> JsonObject:
    if component == "console":  # sessions are kept in memory, so there is only one pod
        return {"replicas": 1, "strategy": {"type": "Recreate"}}
    surge = {"maxUnavailable": 0, "maxSurge": 1}
    return {"replicas": options.replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": surge}}


def _build_pod(component: Component, options: Options) -> JsonObject:
    volumes: list[JsonObject] = [{"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}]
    if _is_mounted(component, options):
        volumes.append({"name": "tls", "secret": {"secretName": name_secret(component)}})
    return {
        "serviceAccountName": name_component(component),
        "automountServiceAccountToken": True,
        **({"priorityClassName": SYSTEM} if component in REQUIRED else {}),
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

"""Network objects of the components: Services, APIServices, NetworkPolicies, and a ServiceMonitor."""

from typing import Final

from virtshape.api.model import JsonObject
from virtshape.apiserver.capability import ACTION_GROUP, ACTION_VERSIONS
from virtshape.cluster.manifests.certificates import SERVING, annotate_ca_injection
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
)
from virtshape.cluster.manifests.options import Options

METRICS: Final = f"{SYSTEM}-metrics"
_APISERVER_PORTS: Final = (443, 6443)
_DNS_PORT: Final = 53


def build_services(options: Options) -> list[JsonObject]:
    """Return the Services of the HTTPS components, and one for the metrics of all components."""
    namespace = options.namespace
    serving = [
        {
            **begin("v1", "Service", name_component(component), namespace, component=component),
            "spec": {"selector": label(component), "ports": [_port("https", 443, "https")]},
        }
        for component in SERVING
    ]
    metrics = begin("v1", "Service", METRICS, namespace)
    ports = [_port("metrics", METRICS_PORT, "metrics")]
    return [*serving, {**metrics, "spec": {"clusterIP": "None", "selector": label(), "ports": ports}}]


def build_api_services(options: Options) -> list[JsonObject]:
    """Return the APIServices that route VM subresources such as `start` and `console` to the aggregated API."""
    service = {"namespace": options.namespace, "name": name_component("apiserver"), "port": 443}
    built = []
    for number, version in enumerate(ACTION_VERSIONS):
        tree = begin("apiregistration.k8s.io/v1", "APIService", f"{version}.{ACTION_GROUP}", component="apiserver")
        tree["metadata"] |= annotate_ca_injection("apiserver", options)
        tree["spec"] = {
            "group": ACTION_GROUP,
            "version": version,
            "groupPriorityMinimum": 1000,
            "versionPriority": 20 - number,
            "service": service,
        }
        built.append(tree)
    return built


def build_network_policies(options: Options) -> list[JsonObject]:
    """Return the NetworkPolicy of each component, which denies all traffic that it does not allow."""
    return [_build_policy(component, options.namespace) for component in COMPONENTS]


def build_monitors(options: Options) -> list[JsonObject]:
    """Return a ServiceMonitor if requested; it needs the CRDs of the Prometheus operator."""
    if not options.service_monitor:
        return []
    tree = begin("monitoring.coreos.com/v1", "ServiceMonitor", SYSTEM, options.namespace)
    endpoint = {"port": "metrics", "path": "/metrics", "interval": "30s"}
    return [{**tree, "spec": {"selector": {"matchLabels": label()}, "endpoints": [endpoint]}}]


def _port(name: str, port: int, target: str) -> JsonObject:
    return {"name": name, "port": port, "targetPort": target, "protocol": "TCP"}


def _build_policy(component: Component, namespace: str) -> JsonObject:
    # The API server and kubelets connect from node addresses, which pod selectors do not match.
    from_anywhere = [HEALTH_PORT, *([HTTPS_PORT] if component in SERVING else [])]
    ingress = [
        {"ports": _list_ports(*from_anywhere)},
        {"from": [{"namespaceSelector": {}}], "ports": _list_ports(METRICS_PORT)},
    ]
    # Pod selectors do not match the API server and, on some clusters, do not match DNS either.
    egress = [{"ports": [*_list_ports(*_APISERVER_PORTS, _DNS_PORT), {"port": _DNS_PORT, "protocol": "UDP"}]}]
    return {
        **begin("networking.k8s.io/v1", "NetworkPolicy", name_component(component), namespace, component=component),
        "spec": {
            "podSelector": {"matchLabels": label(component)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress,
            "egress": egress,
        },
    }


def _list_ports(*ports: int) -> list[JsonObject]:
    return [{"port": port, "protocol": "TCP"} for port in ports]

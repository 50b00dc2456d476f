"""Network objects of the components: Services, APIServices, NetworkPolicies, and a ServiceMonitor."""

from collections.abc import Iterable
from typing import Final

from virtshape.api.model import JsonObject
from virtshape.apiserver.supportedverbs import ACTION_GROUP, ACTION_VERSIONS
from virtshape.cluster.manifests.certificates import annotate_ca_injection
from virtshape.cluster.manifests.naming import (
    HEALTH_PORT,
    HTTPS_PORT,
    METRICS_PORT,
    SERVING,
    SYSTEM,
    Component,
    begin,
    label,
    name_component,
)
from virtshape.cluster.manifests.options import Options

METRICS: Final = f"{SYSTEM}-metrics"
_APISERVER_SERVICE_PORT: Final = 443
_DNS_PORT: Final = 53


def build_services(components: Iterable[Component], options: Options) -> list[JsonObject]:
    """Return the Services of those components that serve HTTPS."""
    return [
        {
            **begin("v1", "Service", name_component(component), options.namespace, component=component),
            "spec": {"selector": label(component), "ports": [_port("https", 443, "https")]},
        }
        for component in components
        if component in SERVING
    ]


def build_metrics_service(options: Options) -> JsonObject:
    """Return the Service for the metrics of all components."""
    ports = [_port("metrics", METRICS_PORT, "metrics")]
    spec = {"clusterIP": "None", "selector": label(), "ports": ports}
    return {**begin("v1", "Service", METRICS, options.namespace), "spec": spec}


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


def build_network_policies(components: Iterable[Component], options: Options) -> list[JsonObject]:
    """Return the components' NetworkPolicies, which deny all traffic that they do not allow explicitly."""
    return [_build_policy(component, options) for component in components]


def build_monitors(options: Options) -> list[JsonObject]:
    """Return a ServiceMonitor, which needs the CRDs of the Prometheus operator, if it is requested."""
    if not options.service_monitor:
        return []
    tree = begin("monitoring.coreos.com/v1", "ServiceMonitor", SYSTEM, options.namespace)
    # honorLabels preserves the label `namespace` of VM metrics, which contains the namespace of the VM.
    endpoint = {"port": "metrics", "path": "/metrics", "interval": "30s", "honorLabels": True}
    return [{**tree, "spec": {"selector": {"matchLabels": label()}, "endpoints": [endpoint]}}]


def _port(name: str, port: int, target: str) -> JsonObject:
    return {"name": name, "port": port, "targetPort": target, "protocol": "TCP"}


def _build_policy(component: Component, options: Options) -> JsonObject:
    # The API server, kubelets and some ingress controllers connect from node addresses, which pod selectors do not
    # match.
    from_anywhere = [HEALTH_PORT, *([HTTPS_PORT] if component in SERVING else [])]
    ingress = [
        {"ports": _list_ports(*from_anywhere)},
        {"from": [{"namespaceSelector": {}}], "ports": _list_ports(METRICS_PORT)},
    ]
    # Pod selectors do not match the API server and, on some clusters, do not match DNS either. Network plugins check
    # the port of the API server's Service or the port of its endpoints.
    ports = _list_ports(_APISERVER_SERVICE_PORT, options.apiserver_port, _DNS_PORT)
    egress = [{"ports": [*ports, {"port": _DNS_PORT, "protocol": "UDP"}]}]
    return {
        **begin(
            "networking.k8s.io/v1", "NetworkPolicy", name_component(component), options.namespace, component=component
        ),
        "spec": {
            "podSelector": {"matchLabels": label(component)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": ingress,
            "egress": egress,
        },
    }


def _list_ports(*ports: int) -> list[JsonObject]:
    return [{"port": port, "protocol": "TCP"} for port in ports]

"""Structs for services."""

from msgspec import field

from virtshape.api.meta import NO_METADATA, Condition, KubernetesObject, Metadata
from virtshape.api.model import Int32, IntOrString, Model


class ServicePort(Model):
    """A port that a service offers."""

    port: Int32
    """Number of the port on the service's addresses."""
    name: str | None = None
    """The port's name; required if there are several ports."""
    app_protocol: str | None = None
    """Application protocol of the port."""
    node_port: Int32 | None = None
    """The port's number on every node."""
    protocol: str | None = None
    """Protocol of the port: `TCP` (default), `UDP` or `SCTP`."""
    target_port: IntOrString | None = None
    """The pods' port, by number or name; the same number if absent."""


class ClientIPConfig(Model):
    """Duration of session affinity."""

    timeout_seconds: Int32 | None = None
    """Duration in seconds; three hours if absent."""


class SessionAffinityConfig(Model):
    """Settings for session affinity."""

    client_ip: ClientIPConfig | None = field(default=None, name="clientIP")
    """Affinity by client address."""


class ServiceSpec(Model):
    """Desired state of a service."""

    type: str | None = None
    """Type of the service: `ClusterIP`, `NodePort`, `LoadBalancer` or `ExternalName`."""
    allocate_load_balancer_node_ports: bool | None = None
    """Whether a load balancer also gets ports on the nodes; true if absent."""
    cluster_ip: str | None = field(default=None, name="clusterIP")
    """Cluster-internal address; `None` for a headless service."""
    cluster_ips: list[str] | None = field(default=None, name="clusterIPs")
    """Addresses of the service inside the cluster, one for each IP family."""
    external_ips: list[str] | None = field(default=None, name="externalIPs")
    """Additional addresses on which nodes accept traffic."""
    external_name: str | None = None
    """DNS name for which the service is an alias, for type `ExternalName`."""
    external_traffic_policy: str | None = None
    """Pods that receive external traffic: all pods (`Cluster`) or only pods on the node that receives it (`Local`)."""
    health_check_node_port: Int32 | None = None
    """Port of the health check for load balancers."""
    internal_traffic_policy: str | None = None
    """Pods that receive internal traffic: all pods (`Cluster`) or only pods on the node that sends it (`Local`)."""
    ip_families: list[str] | None = None
    """IP families of the service."""
    ip_family_policy: str | None = None
    """Number of IP families: `SingleStack`, `PreferDualStack` or `RequireDualStack`."""
    load_balancer_class: str | None = None
    """Class of the load balancer implementation."""
    load_balancer_ip: str | None = field(default=None, name="loadBalancerIP")
    """Requested address of the load balancer; deprecated in favour of annotations."""
    load_balancer_source_ranges: list[str] | None = None
    """Client addresses that the load balancer accepts."""
    ports: list[ServicePort] | None = None
    """The ports that the service offers."""
    publish_not_ready_addresses: bool | None = None
    """Whether addresses of pods that are not ready are published."""
    selector: dict[str, str] | None = None
    """The labels of the service's pods."""
    session_affinity: str | None = None
    """Session affinity: `None` or `ClientIP`."""
    session_affinity_config: SessionAffinityConfig | None = None
    """Settings for session affinity."""
    traffic_distribution: str | None = None
    """Preferred distribution of traffic to pods, such as `PreferClose`."""


class PortStatus(Model):
    """A port of a load balancer."""

    port: Int32
    """Number of the port."""
    protocol: str
    """Protocol of the port: `TCP`, `UDP` or `SCTP`."""
    error: str | None = None
    """Error reason in CamelCase."""


class LoadBalancerIngress(Model):
    """An address of a load balancer."""

    hostname: str | None = None
    """Host name of the load balancer."""
    ip: str | None = None
    """IP address of the load balancer."""
    ip_mode: str | None = None
    """Whether packets arrive with this address as destination (`VIP`) or with another address (`Proxy`)."""
    ports: list[PortStatus] | None = None
    """Ports of the load balancer."""


class LoadBalancerStatus(Model):
    """Observed state of a load balancer."""

    ingress: list[LoadBalancerIngress] | None = None
    """Addresses of the load balancer."""


class ServiceStatus(Model):
    """Observed state of a service."""

    conditions: list[Condition] | None = None
    """Current conditions of the service."""
    load_balancer: LoadBalancerStatus | None = None
    """State of the load balancer."""


class Service(KubernetesObject, kw_only=True):
    """A stable address for a set of pods."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """The kind of this object: `Service`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: ServiceSpec | None = None
    """Desired state of the service."""
    status: ServiceStatus | None = None
    """Observed state of the service."""

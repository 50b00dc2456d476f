"""
Services: one stable address in front of pods.

Only structs: nothing here forwards traffic.
"""

from msgspec import field

from virtshape.api.meta import Condition, ObjectMeta
from virtshape.api.model import Int32, IntOrString, Model


class ServicePort(Model):
    """A port that a service offers."""

    port: Int32
    """The port's number."""
    name: str | None = None
    """The port's name; needed if there are several."""
    app_protocol: str | None = None
    """The protocol that is spoken."""
    node_port: Int32 | None = None
    """The same on every node."""
    protocol: str | None = None
    """`TCP` (also if absent), `UDP` or `SCTP`."""
    target_port: IntOrString | None = None
    """The pods' port, by number or name; the same number if absent."""


class ClientIPConfig(Model):
    """How long an address stays with its pod."""

    timeout_seconds: Int32 | None = None
    """For how many seconds; three hours if absent."""


class SessionAffinityConfig(Model):
    """How a client stays with its pod."""

    client_ip: ClientIPConfig | None = field(default=None, name="clientIP")
    """By the client's address."""


class ServiceSpec(Model):
    """Which pods, under which address."""

    type: str | None = None
    """How far it reaches: `ClusterIP`, `NodePort`, `LoadBalancer` or `ExternalName`."""
    allocate_load_balancer_node_ports: bool | None = None
    """Whether a load balancer also gets ports on the nodes; yes if absent."""
    cluster_ip: str | None = field(default=None, name="clusterIP")
    """Its address inside the cluster; `None` for no address of its own."""
    cluster_ips: list[str] | None = field(default=None, name="clusterIPs")
    """Its addresses inside the cluster, one for each IP family."""
    external_ips: list[str] | None = field(default=None, name="externalIPs")
    """Further addresses that nodes take traffic at."""
    external_name: str | None = None
    """The name that it is an alias of, for type `ExternalName`."""
    external_traffic_policy: str | None = None
    """Which pods take traffic from outside: all (`Cluster`) or the node's own (`Local`)."""
    health_check_node_port: Int32 | None = None
    """The port that tells load balancers whether a node has pods."""
    internal_traffic_policy: str | None = None
    """Which pods take traffic from inside: all (`Cluster`) or the node's own (`Local`)."""
    ip_families: list[str] | None = None
    """Its IP families."""
    ip_family_policy: str | None = None
    """How many IP families: `SingleStack`, `PreferDualStack` or `RequireDualStack`."""
    load_balancer_class: str | None = None
    """Who provides the load balancer."""
    load_balancer_ip: str | None = field(default=None, name="loadBalancerIP")
    """The wanted address of the load balancer; better asked for by annotation."""
    load_balancer_source_ranges: list[str] | None = None
    """The clients that the load balancer lets in."""
    ports: list[ServicePort] | None = None
    """The ports that it offers."""
    publish_not_ready_addresses: bool | None = None
    """Whether pods count that are not ready."""
    selector: dict[str, str] | None = None
    """The labels of its pods."""
    session_affinity: str | None = None
    """Whether a client stays with its pod: `None` or `ClientIP`."""
    session_affinity_config: SessionAffinityConfig | None = None
    """How a client stays with its pod."""
    traffic_distribution: str | None = None
    """Which pods are preferred, such as `PreferClose`."""


class PortStatus(Model):
    """A port of a load balancer."""

    port: Int32
    """The port's number."""
    protocol: str
    """`TCP`, `UDP` or `SCTP`."""
    error: str | None = None
    """What is wrong with it, as one word."""


class LoadBalancerIngress(Model):
    """Where a load balancer takes traffic in."""

    hostname: str | None = None
    """Its name."""
    ip: str | None = None
    """Its address."""
    ip_mode: str | None = None
    """Whether packets arrive with that address (`VIP`) or with another (`Proxy`)."""
    ports: list[PortStatus] | None = None
    """Its ports."""


class LoadBalancerStatus(Model):
    """A load balancer, as observed."""

    ingress: list[LoadBalancerIngress] | None = None
    """Where it takes traffic in."""


class ServiceStatus(Model):
    """How a service is."""

    conditions: list[Condition] | None = None
    """The observed facts."""
    load_balancer: LoadBalancerStatus | None = None
    """Its load balancer."""


class Service(Model, kw_only=True):
    """One stable address in front of pods."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """`Service`."""
    metadata: ObjectMeta | None = None
    """The object's name, namespace, labels and the like."""
    spec: ServiceSpec | None = None
    """The service, as wanted."""
    status: ServiceStatus | None = None
    """The service, as observed."""

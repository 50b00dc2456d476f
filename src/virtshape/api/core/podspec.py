"""Structs for pods and pod templates."""

from msgspec import field

from virtshape.api.core.container import Container, EphemeralContainer, ResourceRequirements
from virtshape.api.core.podshared import LocalObjectReference
from virtshape.api.core.podstatus import PodStatus
from virtshape.api.core.scheduling import Affinity, PodDNSConfig, Toleration, TopologySpreadConstraint
from virtshape.api.core.security import PodSecurityContext
from virtshape.api.core.volumesource import Volume
from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata, ObjectMeta
from virtshape.api.model import Int32, Model
from virtshape.api.quantity import Quantity


class EvictionResponder(Model):
    """A component that responds to eviction requests for a pod."""

    name: str
    """Name of the component, with a domain as prefix."""
    priority: Int32
    """Order of the requests; higher values come first."""


class HostAlias(Model):
    """A line in `/etc/hosts`."""

    ip: str
    """IP address in the line."""
    hostnames: list[str] | None = None
    """The host names for this address."""


class PodOS(Model):
    """A pod's operating system."""

    name: str
    """Name of the operating system: `linux` or `windows`."""


class PodReadinessGate(Model):
    """An additional condition for the readiness of a pod."""

    condition_type: str
    """Type of the condition that must be true."""


class PodResourceClaim(Model):
    """A resource claim that a pod's containers can use."""

    name: str
    """Name of the claim in the pod."""
    resource_claim_name: str | None = None
    """Name of the ResourceClaim."""
    resource_claim_template_name: str | None = None
    """Name of the template for the claim that is created for each pod."""


class PodSchedulingGate(Model):
    """A gate that must be removed before a pod is scheduled."""

    name: str
    """Name of the gate."""


class PodSchedulingGroup(Model):
    """The group that a pod is scheduled with."""

    pod_group_name: str | None = None
    """Name of the pod group."""


class PodSpec(Model):
    """Desired state of a pod."""

    containers: list[Container]
    """Containers of the pod."""
    active_deadline_seconds: int | None = None
    """Seconds after which an active pod is terminated."""
    affinity: Affinity | None = None
    """Affinity rules of the pod."""
    automount_service_account_token: bool | None = None
    """Whether the service account token is mounted."""
    dns_config: PodDNSConfig | None = None
    """DNS settings of the pod."""
    dns_policy: str | None = None
    """DNS policy, such as `ClusterFirst`."""
    enable_service_links: bool | None = None
    """Whether containers get environment variables for services; true if absent."""
    ephemeral_containers: list[EphemeralContainer] | None = None
    """Ephemeral containers for debugging."""
    eviction_responders: list[EvictionResponder] | None = None
    """Components that respond to eviction requests for the pod."""
    host_aliases: list[HostAlias] | None = None
    """Additional lines in `/etc/hosts`."""
    host_ipc: bool | None = field(default=None, name="hostIPC")
    """Whether the pod shares the node's IPC namespace."""
    host_network: bool | None = None
    """Whether the pod shares the node's network namespace."""
    host_pid: bool | None = field(default=None, name="hostPID")
    """Whether the pod shares the node's PID namespace."""
    host_users: bool | None = None
    """Whether the pod shares the node's user namespace; true if absent."""
    hostname: str | None = None
    """Host name of the pod; its name if absent."""
    hostname_override: str | None = None
    """Host name in the containers, independent of DNS."""
    image_pull_secrets: list[LocalObjectReference] | None = None
    """Secrets with credentials for pulling the pod's images."""
    init_containers: list[Container] | None = None
    """Init containers, which run one after another."""
    node_name: str | None = None
    """Name of the node that the pod runs on."""
    node_selector: dict[str, str] | None = None
    """The labels that the pod's node must have."""
    os: PodOS | None = None
    """Operating system of the pod."""
    overhead: dict[str, Quantity] | None = None
    """Resources that the runtime needs in addition to those of the containers."""
    preemption_policy: str | None = None
    """Preemption policy: `Never` or `PreemptLowerPriority`."""
    priority: Int32 | None = None
    """Priority; pods with a higher value are scheduled first."""
    priority_class_name: str | None = None
    """Priority class of the pod."""
    readiness_gates: list[PodReadinessGate] | None = None
    """Additional conditions for readiness."""
    resource_claims: list[PodResourceClaim] | None = None
    """The resource claims that the pod's containers can use."""
    resources: ResourceRequirements | None = None
    """Resource requests and limits of the pod as a whole."""
    restart_policy: str | None = None
    """Restart policy: `Always`, `OnFailure` or `Never`."""
    runtime_class_name: str | None = None
    """Runtime class of the pod."""
    scheduler_name: str | None = None
    """Name of the scheduler."""
    scheduling_gates: list[PodSchedulingGate] | None = None
    """Gates that must be removed before the pod is scheduled."""
    scheduling_group: PodSchedulingGroup | None = None
    """The group that the pod is scheduled with."""
    security_context: PodSecurityContext | None = None
    """Security settings of all containers of the pod."""
    service_account: str | None = None
    """Deprecated name of the service account."""
    service_account_name: str | None = None
    """Name of the service account."""
    set_hostname_as_fqdn: bool | None = field(default=None, name="setHostnameAsFQDN")
    """Whether the pod's host name is its full domain name."""
    share_process_namespace: bool | None = None
    """Whether the pod's containers share one PID namespace."""
    subdomain: str | None = None
    """Subdomain of the pod's DNS name."""
    termination_grace_period_seconds: int | None = None
    """Seconds for a graceful shutdown; 30 if absent."""
    tolerations: list[Toleration] | None = None
    """Taints that the pod tolerates."""
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    """Constraints on the distribution of similar pods."""
    volumes: list[Volume] | None = None
    """The volumes that the pod's containers can use."""


class Pod(KubernetesObject, kw_only=True):
    """Containers that run together on one node."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """The kind of this object: `Pod`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: PodSpec | None = None
    """Desired state of the pod."""
    status: PodStatus | None = None
    """Observed state of the pod."""


class PodTemplateSpec(Model):
    """Template for the pods that a controller creates."""

    metadata: ObjectMeta | None = None
    """Labels and annotations of the pods."""
    spec: PodSpec | None = None
    """Desired state of the pods."""

"""
Pods, and templates of pods.

Only structs: nothing here places or starts a pod.
"""

from msgspec import field

from virtshape.api.core.container import Container, EphemeralContainer, ResourceRequirements
from virtshape.api.core.pod import LocalObjectReference
from virtshape.api.core.podstatus import PodStatus
from virtshape.api.core.scheduling import Affinity, PodDNSConfig, Toleration, TopologySpreadConstraint
from virtshape.api.core.security import PodSecurityContext
from virtshape.api.core.volumesource import Volume
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Int32, Model
from virtshape.api.quantity import Quantity


class EvictionResponder(Model):
    """Someone who is asked before a pod is evicted."""

    name: str
    """Its name, with a domain before it."""
    priority: Int32
    """When it is asked; higher goes first."""


class HostAlias(Model):
    """A line of `/etc/hosts`."""

    ip: str
    """The address."""
    hostnames: list[str] | None = None
    """The names."""


class PodOS(Model):
    """A pod's operating system."""

    name: str
    """`linux` or `windows`."""


class PodReadinessGate(Model):
    """A further condition that a pod must meet to be ready."""

    condition_type: str
    """The condition's type."""


class PodResourceClaim(Model):
    """A resource claim that a pod's containers can use."""

    name: str
    """Its name in the pod."""
    resource_claim_name: str | None = None
    """The claim."""
    resource_claim_template_name: str | None = None
    """The template that a claim is made from for each pod."""


class PodSchedulingGate(Model):
    """What has to be lifted before a pod is placed."""

    name: str
    """Its name."""


class PodSchedulingGroup(Model):
    """The group that a pod is placed with."""

    pod_group_name: str | None = None
    """The group's name."""


class PodSpec(Model):
    """What a pod runs, and where."""

    containers: list[Container]
    """Its containers."""
    active_deadline_seconds: int | None = None
    """How long it may be active before it is ended."""
    affinity: Affinity | None = None
    """Which nodes and neighbours it wants."""
    automount_service_account_token: bool | None = None
    """Whether its containers get a token."""
    dns_config: PodDNSConfig | None = None
    """Its name servers and the like."""
    dns_policy: str | None = None
    """Whose name servers it uses, such as `ClusterFirst`."""
    enable_service_links: bool | None = None
    """Whether services become environment variables; yes if absent."""
    ephemeral_containers: list[EphemeralContainer] | None = None
    """The containers that were added to look into it."""
    eviction_responders: list[EvictionResponder] | None = None
    """Who is asked before it is evicted."""
    host_aliases: list[HostAlias] | None = None
    """Further lines of `/etc/hosts`."""
    host_ipc: bool | None = field(default=None, name="hostIPC")
    """Whether it shares the node's IPC."""
    host_network: bool | None = None
    """Whether it shares the node's network."""
    host_pid: bool | None = field(default=None, name="hostPID")
    """Whether it sees the node's processes."""
    host_users: bool | None = None
    """Whether it shares the node's users; yes if absent."""
    hostname: str | None = None
    """Its host name; the pod's name if absent."""
    hostname_override: str | None = None
    """The host name that its containers see, whatever DNS says."""
    image_pull_secrets: list[LocalObjectReference] | None = None
    """The secrets that its images are fetched with."""
    init_containers: list[Container] | None = None
    """The containers that come before the others, one after another."""
    node_name: str | None = None
    """The node it is placed on."""
    node_selector: dict[str, str] | None = None
    """The labels that its node must have."""
    os: PodOS | None = None
    """Its operating system."""
    overhead: dict[str, Quantity] | None = None
    """What its runtime needs besides its containers."""
    preemption_policy: str | None = None
    """Whether it may displace others: `Never` or `PreemptLowerPriority`."""
    priority: Int32 | None = None
    """Its priority; higher goes first."""
    priority_class_name: str | None = None
    """The class that gives its priority."""
    readiness_gates: list[PodReadinessGate] | None = None
    """Further conditions that it must meet to be ready."""
    resource_claims: list[PodResourceClaim] | None = None
    """The resource claims that its containers can use."""
    resources: ResourceRequirements | None = None
    """What all its containers together need and may use."""
    restart_policy: str | None = None
    """When its containers are started again: `Always`, `OnFailure` or `Never`."""
    runtime_class_name: str | None = None
    """How its containers are run."""
    scheduler_name: str | None = None
    """Who places it."""
    scheduling_gates: list[PodSchedulingGate] | None = None
    """What has to be lifted before it is placed."""
    scheduling_group: PodSchedulingGroup | None = None
    """The group that it is placed with."""
    security_context: PodSecurityContext | None = None
    """What its containers may do, and as whom they run."""
    service_account: str | None = None
    """Who it is to the API, in the older form."""
    service_account_name: str | None = None
    """Who it is to the API."""
    set_hostname_as_fqdn: bool | None = field(default=None, name="setHostnameAsFQDN")
    """Whether its host name is the full domain name."""
    share_process_namespace: bool | None = None
    """Whether its containers see each other's processes."""
    subdomain: str | None = None
    """The domain below the namespace that its name is in."""
    termination_grace_period_seconds: int | None = None
    """How long it may take to end; 30 if absent."""
    tolerations: list[Toleration] | None = None
    """The taints that it puts up with."""
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    """How evenly it is spread with its like."""
    volumes: list[Volume] | None = None
    """The volumes that its containers can use."""


class Pod(Model, kw_only=True):
    """Containers that run together on one node."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """`Pod`."""
    metadata: ObjectMeta | None = None
    """The object's name, namespace, labels and the like."""
    spec: PodSpec | None = None
    """The pod, as wanted."""
    status: PodStatus | None = None
    """The pod, as observed."""


class PodTemplateSpec(Model):
    """What pods made by a controller look like."""

    metadata: ObjectMeta | None = None
    """Their labels and annotations."""
    spec: PodSpec | None = None
    """The pods, as wanted."""

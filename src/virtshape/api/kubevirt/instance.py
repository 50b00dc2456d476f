"""
Structs for VirtualMachineInstances. An instance is one run of a virtual machine, with all sizes and devices.

A VM's template has the same spec. In an instance, the instance type and preference are already applied.
"""

from typing import Final, Literal

from virtshape.api.core.podshared import ExecAction, HTTPGetAction, TCPSocketAction
from virtshape.api.core.scheduling import Affinity, PodDNSConfig, Toleration, TopologySpreadConstraint
from virtshape.api.kubevirt.credentials import AccessCredential
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.kubevirt.network import Network
from virtshape.api.kubevirt.status import VirtualMachineInstanceStatus
from virtshape.api.kubevirt.volume import UtilityVolume, Volume
from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Int32, Model

FINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})


class GuestAgentPing(Model):
    """Ping of the guest agent (no settings)."""


class Probe(Model):
    """A probe of the running guest; exactly one of the four handlers must be set."""

    guest_agent_ping: GuestAgentPing | None = None
    """`{}` pings the QEMU guest agent."""
    exec: ExecAction | None = None
    """Command that the QEMU guest agent runs; exit code 0 means healthy. Without an agent the check fails."""
    http_get: HTTPGetAction | None = None
    """HTTP request to the guest; a status from 200 to 399 means healthy."""
    tcp_socket: TCPSocketAction | None = None
    """TCP connection to the guest; an accepted connection means healthy."""
    initial_delay_seconds: Int32 | None = None
    """Seconds to wait after the start before the first check. Default: 0."""
    period_seconds: Int32 | None = None
    """Seconds between two checks, at least 1. Default: 10."""
    timeout_seconds: Int32 | None = None
    """Timeout of a check in seconds, at least 1. Default: 1."""
    success_threshold: Int32 | None = None
    """Consecutive successes until a failed guest is healthy; must be 1 for liveness. Default: 1."""
    failure_threshold: Int32 | None = None
    """Consecutive failures until a healthy guest has failed, at least 1. Default: 3."""


class VirtualMachineInstanceResourceClaim(Model):
    """Devices to allocate before the VM starts; exactly one of claim and template must be set."""

    name: str
    """Name by which GPUs, host devices and networks refer to this entry; a DNS label, unique in the VM."""
    resource_claim_name: str | None = None
    """An existing ResourceClaim in the VM's namespace. Mutually exclusive with `resourceClaimTemplateName`."""
    resource_claim_template_name: str | None = None
    """A ResourceClaimTemplate from which each start creates a claim. Mutually exclusive with `resourceClaimName`."""


class VirtualMachineInstanceSpec(Model, kw_only=True):
    """The specification of an instance: hardware, storage, networks and scheduling."""

    architecture: str | None = None
    """
    CPU architecture of the guest: `amd64`, `arm64` or `s390x`.

    Default: the architecture that the cluster's configuration sets.
    """
    domain: DomainSpec
    """The virtual hardware of the guest."""
    networks: list[Network] | None = None
    """Networks to connect to, each with an interface of the same name; the pod network when absent."""
    volumes: list[Volume] | None = None
    """Volumes with the content of disks and filesystems, which refer to them by name."""
    access_credentials: list[AccessCredential] | None = None
    """SSH keys and passwords to set in the guest."""
    resource_claims: list[VirtualMachineInstanceResourceClaim] | None = None
    """Dynamically allocated devices, which GPUs, host devices and networks refer to."""
    utility_volumes: list[UtilityVolume] | None = None
    """Claims for the launcher's own use, such as backups; the guest does not see them."""
    hostname: str | None = None
    """Host name offered to the guest by DHCP and cloud-init. Default: the name of the VM."""
    subdomain: str | None = None
    """Name of the headless Service for DNS names such as `hostname.subdomain.namespace.svc`."""
    dns_policy: Literal["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"] | None = None
    """Source of name servers; `None` uses only those of `dnsConfig`. Default: `ClusterFirst`."""
    dns_config: PodDNSConfig | None = None
    """Name servers, search domains and options in addition to those that result from `dnsPolicy`."""
    node_selector: dict[str, str] | None = None
    """Labels that a node must have to run this VM; conflicts with an instance type that has a selector."""
    affinity: Affinity | None = None
    """Affinity rules of the VM."""
    tolerations: list[Toleration] | None = None
    """Taints of nodes that the VM tolerates."""
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    """Constraints on the distribution of VMs over zones or nodes."""
    scheduler_name: str | None = None
    """
    Scheduler that picks the node; conflicts with an instance type that sets one.

    Default: the scheduler of the cluster.
    """
    priority_class_name: str | None = None
    """PriorityClass of the VM, for preemption on full nodes. Default: the default class of the cluster."""
    service_account_name: str | None = None
    """ServiceAccount that the launcher runs as; the guest gets a token only through a `serviceAccount` volume."""
    eviction_strategy: str | None = None
    """Action on a node drain: `None` (stop), `LiveMigrate`, `LiveMigrateIfPossible` or `External` (by another tool)."""
    start_strategy: str | None = None
    """`Paused` starts the VM with paused vCPUs, until `virtctl unpause vm`. If absent, the guest runs immediately."""
    termination_grace_period_seconds: int | None = None
    """Seconds that the guest has to shut down before it is powered off; 0 powers it off immediately. Default: 30."""
    liveness_probe: Probe | None = None
    """If this check fails, the instance is stopped; the VM's run strategy may then start a new instance."""
    readiness_probe: Probe | None = None
    """A check that decides whether services send traffic to the VM."""


class VirtualMachineInstance(KubernetesObject, kw_only=True):
    """A running or starting virtual machine; usually created for a VirtualMachine, and deleted when the VM stops."""

    api_version: str
    """Group and version of the API, `kubevirt.io/v1`."""
    kind: str
    """The kind of this object: `VirtualMachineInstance`."""
    metadata: Metadata = NO_METADATA
    """Name, namespace, labels and annotations."""
    spec: VirtualMachineInstanceSpec
    """The complete specification; most fields are immutable once the instance exists."""
    status: VirtualMachineInstanceStatus | None = None
    """Observed state of the instance; written by the controllers."""


def is_final(vmi: VirtualMachineInstance) -> bool:
    """Return True if the instance is in a final phase."""
    return vmi.status is not None and vmi.status.phase in FINAL_PHASES

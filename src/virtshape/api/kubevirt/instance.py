"""
Structs of VirtualMachineInstance: one run of a virtual machine, with all sizes and devices.

A VM's template has the same spec. In an instance, the instance type and preference are already applied.
"""

from typing import Final, Literal

from virtshape.api.core.pod import ExecAction, HTTPGetAction, TCPSocketAction
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
    """Command that the QEMU guest agent runs; healthy if its exit code is 0. Without an agent the check fails."""
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
    """Consecutive successes until a failed guest is healthy; 1 for liveness. Default: 1."""
    failure_threshold: Int32 | None = None
    """Consecutive failures until a healthy guest has failed, at least 1. Default: 3."""


class VirtualMachineInstanceResourceClaim(Model):
    """Devices to allocate before the VM starts; exactly one of claim and template must be set."""

    name: str
    """Name by which GPUs, host devices and networks refer to this entry; a DNS label, used once per VM."""
    resource_claim_name: str | None = None
    """An existing ResourceClaim in the VM's namespace. Excludes `resourceClaimTemplateName`."""
    resource_claim_template_name: str | None = None
    """A ResourceClaimTemplate from which each start creates a claim. Excludes `resourceClaimName`."""


class VirtualMachineInstanceSpec(Model, kw_only=True):
    """The specification of an instance: hardware, storage, networks and scheduling."""

    architecture: str | None = None
    """CPU architecture of the guest: `amd64`, `arm64` or `s390x`. Default: that of the cluster."""
    domain: DomainSpec
    """The virtual hardware."""
    networks: list[Network] | None = None
    """Networks to connect to, each with an interface of the same name; the pod network when absent."""
    volumes: list[Volume] | None = None
    """Contents of disks and shared directories, which refer to volumes by name."""
    access_credentials: list[AccessCredential] | None = None
    """SSH keys and passwords to set in the guest."""
    resource_claims: list[VirtualMachineInstanceResourceClaim] | None = None
    """Dynamically allocated devices, which GPUs, host devices and networks refer to."""
    utility_volumes: list[UtilityVolume] | None = None
    """Claims for the launcher's own use, such as backups; the guest does not see them."""
    hostname: str | None = None
    """Host name offered to the guest by DHCP and cloud-init. Default: the name of the VM."""
    subdomain: str | None = None
    """Headless service for DNS names such as `hostname.subdomain.namespace.svc`. None when absent."""
    dns_policy: Literal["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"] | None = None
    """Source of name servers; `None` uses only those of `dnsConfig`. Default: `ClusterFirst`."""
    dns_config: PodDNSConfig | None = None
    """Name servers, search domains and options in addition to those of `dnsPolicy`."""
    node_selector: dict[str, str] | None = None
    """Labels that a node must have to run this VM; conflicts with an instance type that has a selector."""
    affinity: Affinity | None = None
    """Affinity rules of the VM."""
    tolerations: list[Toleration] | None = None
    """Taints of nodes that the VM tolerates."""
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    """Constraints on the distribution of VMs over zones or nodes."""
    scheduler_name: str | None = None
    """Scheduler that picks the node; conflicts with an instance type that names one. Default: the cluster's."""
    priority_class_name: str | None = None
    """PriorityClass of the VM, for preemption on full nodes. Default: the cluster's."""
    service_account_name: str | None = None
    """ServiceAccount to run the launcher as; the guest gets its token only by a `serviceAccount` volume."""
    eviction_strategy: str | None = None
    """On a node drain: `None` stops the VM; `LiveMigrate`, `LiveMigrateIfPossible` or `External` move it."""
    start_strategy: str | None = None
    """`Paused` starts the VM but holds its vCPUs until `virtctl unpause vm`. If absent, the guest runs at once."""
    termination_grace_period_seconds: int | None = None
    """Seconds for the guest to shut down before it is powered off; 0 powers off at once. Default: 30."""
    liveness_probe: Probe | None = None
    """If this check fails, the instance is stopped; the VM's run strategy may then start a new one."""
    readiness_probe: Probe | None = None
    """A check that decides whether services send traffic to the VM."""


class VirtualMachineInstance(KubernetesObject, kw_only=True):
    """A running or starting virtual machine; usually created for a VirtualMachine, and deleted when the VM stops."""

    api_version: str
    """Group and version of the API, `kubevirt.io/v1`."""
    kind: str
    """`VirtualMachineInstance`."""
    metadata: Metadata = NO_METADATA
    """Name, namespace, labels and annotations."""
    spec: VirtualMachineInstanceSpec
    """The complete specification; mostly immutable once the instance exists."""
    status: VirtualMachineInstanceStatus | None = None
    """Observed state of the instance; written by the controllers."""


def is_final(vmi: VirtualMachineInstance) -> bool:
    """Return True if the instance is in a final phase."""
    return vmi.status is not None and vmi.status.phase in FINAL_PHASES

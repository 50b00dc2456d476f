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
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Int32, Model

FINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})


class GuestAgentPing(Model):
    """Ask whether the guest agent answers; has no settings."""


class Probe(Model):
    """A check that is repeated while the guest runs; exactly one of the four ways to ask."""

    guest_agent_ping: GuestAgentPing | None = None
    """`{}` pings the QEMU guest agent."""
    exec: ExecAction | None = None
    """A command for the QEMU guest agent to run; exit code 0 means healthy, a missing agent does not."""
    http_get: HTTPGetAction | None = None
    """Sends an HTTP request to the guest; an answer from 200 to 399 means healthy."""
    tcp_socket: TCPSocketAction | None = None
    """Opens a TCP connection to the guest; being accepted means healthy."""
    initial_delay_seconds: Int32 | None = None
    """Seconds to wait after the start before the first check. Default: 0."""
    period_seconds: Int32 | None = None
    """Seconds between two checks, at least 1. Default: 10."""
    timeout_seconds: Int32 | None = None
    """Seconds until a check without an answer counts as failed, at least 1. Default: 1."""
    success_threshold: Int32 | None = None
    """Good checks in a row until a failed guest counts as healthy; 1 for liveness. Default: 1."""
    failure_threshold: Int32 | None = None
    """Failed checks in a row until a healthy guest counts as failed, at least 1. Default: 3."""


class VirtualMachineInstanceResourceClaim(Model):
    """Devices to allocate before the VM starts; exactly one of claim and template."""

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
    """Contents of disks and shared directories, matched with them by name."""
    access_credentials: list[AccessCredential] | None = None
    """SSH keys and passwords to bring into the guest."""
    resource_claims: list[VirtualMachineInstanceResourceClaim] | None = None
    """Dynamically allocated devices, for GPUs, host devices and networks to draw on."""
    utility_volumes: list[UtilityVolume] | None = None
    """Claims for the launcher's own use, such as backups; the guest does not see them."""
    hostname: str | None = None
    """Host name offered to the guest by DHCP and cloud-init. Default: the name of the VM."""
    subdomain: str | None = None
    """Headless service to be listed under in DNS, as `hostname.subdomain.namespace.svc`. None when absent."""
    dns_policy: Literal["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"] | None = None
    """Where name servers come from; `None` takes only those of `dnsConfig`. Default: `ClusterFirst`."""
    dns_config: PodDNSConfig | None = None
    """Name servers, search domains and options to add to what `dnsPolicy` gives."""
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
    """PriorityClass that decides who gives way when nodes are full. Default: the cluster's."""
    service_account_name: str | None = None
    """ServiceAccount to run the launcher as; the guest gets its token only by a `serviceAccount` volume."""
    eviction_strategy: str | None = None
    """On a node drain: `None` stops the VM; `LiveMigrate`, `LiveMigrateIfPossible` or `External` move it."""
    start_strategy: str | None = None
    """`Paused` starts the VM but holds its vCPUs until `virtctl unpause vm`. Runs at once when absent."""
    termination_grace_period_seconds: int | None = None
    """Seconds the guest gets to shut down before it is switched off; 0 switches off at once. Default: 30."""
    liveness_probe: Probe | None = None
    """A check that stops the instance when it fails; the VM's run strategy may then start a new one."""
    readiness_probe: Probe | None = None
    """A check that decides whether services send traffic to the VM."""


class VirtualMachineInstance(Model, kw_only=True):
    """A running or starting virtual machine; usually created by a VirtualMachine and deleted when it stops."""

    api_version: str
    """Group and version of the API, `kubevirt.io/v1`."""
    kind: str
    """`VirtualMachineInstance`."""
    metadata: ObjectMeta | None = None
    """Name, namespace, labels and annotations."""
    spec: VirtualMachineInstanceSpec
    """What was asked for, complete; mostly fixed once the instance exists."""
    status: VirtualMachineInstanceStatus | None = None
    """Observed state of the instance; written by the controllers."""


def is_final(vmi: VirtualMachineInstance) -> bool:
    """Return True if the instance is in a final phase."""
    return vmi.status is not None and vmi.status.phase in FINAL_PHASES

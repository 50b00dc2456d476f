from typing import Literal

from virtshape.api.core.pod import ExecAction, HTTPGetAction, TCPSocketAction
from virtshape.api.core.scheduling import Affinity, PodDNSConfig, Toleration, TopologySpreadConstraint
from virtshape.api.kubevirt.credentials import AccessCredential
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.kubevirt.network import Network
from virtshape.api.kubevirt.status import VirtualMachineInstanceStatus
from virtshape.api.kubevirt.volume import UtilityVolume, Volume
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Int32, Model


class GuestAgentPing(Model):
    pass


class Probe(Model):
    exec: ExecAction | None = None
    failure_threshold: Int32 | None = None
    guest_agent_ping: GuestAgentPing | None = None
    http_get: HTTPGetAction | None = None
    initial_delay_seconds: Int32 | None = None
    period_seconds: Int32 | None = None
    success_threshold: Int32 | None = None
    tcp_socket: TCPSocketAction | None = None
    timeout_seconds: Int32 | None = None


class VirtualMachineInstanceResourceClaim(Model):
    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class VirtualMachineInstanceSpec(Model):
    domain: DomainSpec
    access_credentials: list[AccessCredential] | None = None
    affinity: Affinity | None = None
    architecture: str | None = None
    dns_config: PodDNSConfig | None = None
    dns_policy: Literal["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"] | None = None
    eviction_strategy: str | None = None
    hostname: str | None = None
    liveness_probe: Probe | None = None
    networks: list[Network] | None = None
    node_selector: dict[str, str] | None = None
    priority_class_name: str | None = None
    readiness_probe: Probe | None = None
    resource_claims: list[VirtualMachineInstanceResourceClaim] | None = None
    scheduler_name: str | None = None
    service_account_name: str | None = None
    start_strategy: str | None = None
    subdomain: str | None = None
    termination_grace_period_seconds: int | None = None
    tolerations: list[Toleration] | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    utility_volumes: list[UtilityVolume] | None = None
    volumes: list[Volume] | None = None


class VirtualMachineInstance(Model, kw_only=True):
    api_version: str
    kind: str
    metadata: ObjectMeta | None = None
    spec: VirtualMachineInstanceSpec
    status: VirtualMachineInstanceStatus | None = None

"""
What became of a pod and its containers.

Only structs: nothing here watches one.
"""

from msgspec import field

from virtshape.api.core.claim import VolumeHealthCondition
from virtshape.api.core.container import ResourceRequirements
from virtshape.api.model import Int32, Model, Time
from virtshape.api.quantity import Quantity


class PodCondition(Model):
    """One observed fact about a pod."""

    type: str
    """Which fact."""
    status: str
    """Whether it holds: `True`, `False` or `Unknown`."""
    last_probe_time: Time | None = None
    """When it was last looked at."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    message: str | None = None
    """The details, for people."""
    observed_generation: int | None = None
    """The generation of the object that the fact is about."""
    reason: str | None = None
    """The cause, as one word."""


class HostIP(Model):
    """An address of a node."""

    ip: str
    """The address."""


class PodIP(Model):
    """An address of a pod."""

    ip: str
    """The address."""


class PodVolumeHealth(Model):
    """How one volume of a pod is."""

    name: str
    """The volume's name in the pod."""
    health_conditions: list[VolumeHealthCondition] | None = None
    """What is wrong; empty if all is well."""
    last_transition_time: Time | None = None
    """When this list last changed."""


class PodResourceClaimStatus(Model):
    """A claim that was made for a pod."""

    name: str
    """Its name in the pod."""
    resource_claim_name: str | None = None
    """The claim."""


class ContainerExtendedResourceRequest(Model):
    """The request that stands for an extended resource of a container."""

    container_name: str
    """The container."""
    request_name: str
    """The request in the claim."""
    resource_name: str
    """The extended resource."""


class PodExtendedResourceClaimStatus(Model):
    """The claim that was made for a pod's extended resources."""

    request_mappings: list[ContainerExtendedResourceRequest]
    """Which request stands for which resource."""
    resource_claim_name: str
    """The claim."""


class NodeAllocatableMappedResources(Model):
    """An amount of a node's resource, got by a claim."""

    name: str
    """The resource."""
    quantity: Quantity
    """How much of it."""


class NodeAllocatableOverheadResources(Model):
    """What using a claim costs of a node's resource."""

    name: str
    """The resource."""
    per_container: Quantity | None = None
    """How much for each container."""
    per_pod: Quantity | None = None
    """How much for the pod, once."""


class NodeAllocatableResourceClaimStatus(Model):
    """The node's own resources that a pod got by a claim."""

    resource_claim_name: str
    """The claim."""
    containers: list[str] | None = None
    """The containers that use the claim."""
    mapping: list[NodeAllocatableMappedResources] | None = None
    """What it got to use."""
    overhead: list[NodeAllocatableOverheadResources] | None = None
    """What using it costs besides."""


class ContainerStateRunning(Model):
    """A container that runs."""

    started_at: Time | None = None
    """When it started."""


class ContainerStateTerminated(Model):
    """A container that has ended."""

    exit_code: Int32
    """Its exit code."""
    container_id: str | None = field(default=None, name="containerID")
    """What the runtime called it."""
    finished_at: Time | None = None
    """When it ended."""
    message: str | None = None
    """Its last words."""
    reason: str | None = None
    """Why it ended, as one word."""
    signal: Int32 | None = None
    """The signal that ended it."""
    started_at: Time | None = None
    """When it started."""


class ContainerStateWaiting(Model):
    """A container that has not started yet."""

    message: str | None = None
    """What it waits for, for people."""
    reason: str | None = None
    """What it waits for, as one word."""


class ContainerState(Model):
    """How a container is; one of these."""

    running: ContainerStateRunning | None = None
    """It runs."""
    terminated: ContainerStateTerminated | None = None
    """It has ended."""
    waiting: ContainerStateWaiting | None = None
    """It has not started yet."""


class LinuxContainerUser(Model):
    """As whom a container runs on Linux."""

    gid: int
    """The group."""
    uid: int
    """The user."""
    supplemental_groups: list[int] | None = None
    """Further groups."""


class ContainerUser(Model):
    """As whom a container runs."""

    linux: LinuxContainerUser | None = None
    """On Linux."""


class ResourceHealth(Model):
    """How one device is."""

    resource_id: str = field(name="resourceID")
    """The device."""
    health: str | None = None
    """`Healthy`, `Unhealthy` or `Unknown`."""
    message: str | None = None
    """The details, for people."""


class ResourceStatus(Model):
    """How the devices of one resource are."""

    name: str
    """The resource."""
    resources: list[ResourceHealth] | None = None
    """The devices."""


class ImageVolumeStatus(Model):
    """An image that was mounted."""

    image_ref: str
    """Its digest."""


class VolumeStatus(Model):
    """What was mounted."""

    image: ImageVolumeStatus | None = None
    """The image."""


class VolumeMountStatus(Model):
    """A volume that a container sees."""

    name: str
    """The volume's name in the pod."""
    mount_path: str
    """Where it appears."""
    read_only: bool | None = None
    """Whether it is read-only."""
    recursive_read_only: str | None = None
    """Whether all below it is read-only too."""
    volume_status: VolumeStatus | None = None
    """What was mounted."""


class ContainerStatus(Model):
    """What became of a container."""

    name: str
    """Its name in the pod."""
    image: str
    """Its image."""
    image_id: str = field(name="imageID")
    """The digest of its image."""
    ready: bool
    """Whether it gets traffic."""
    restart_count: Int32
    """How often it was started again."""
    allocated_resources: dict[str, Quantity] | None = None
    """What its node has set aside for it."""
    allocated_resources_status: list[ResourceStatus] | None = None
    """How the devices it was given are."""
    container_id: str | None = field(default=None, name="containerID")
    """What the runtime calls it."""
    last_state: ContainerState | None = None
    """How it was before its last start."""
    resources: ResourceRequirements | None = None
    """What it was given."""
    started: bool | None = None
    """Whether it is past its start."""
    state: ContainerState | None = None
    """How it is."""
    stop_signal: str | None = None
    """The signal that ends it."""
    user: ContainerUser | None = None
    """As whom it runs."""
    volume_mounts: list[VolumeMountStatus] | None = None
    """The volumes that it sees."""


class PodStatus(Model):
    """What became of a pod."""

    allocated_resources: dict[str, Quantity] | None = None
    """What its node has set aside for it."""
    conditions: list[PodCondition] | None = None
    """The observed facts."""
    container_statuses: list[ContainerStatus] | None = None
    """Its containers."""
    ephemeral_container_statuses: list[ContainerStatus] | None = None
    """The containers that were added to look into it."""
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    """The claim that was made for its extended resources."""
    host_ip: str | None = field(default=None, name="hostIP")
    """Its node's address."""
    host_ips: list[HostIP] | None = field(default=None, name="hostIPs")
    """Its node's addresses."""
    init_container_statuses: list[ContainerStatus] | None = None
    """The containers that come before the others."""
    message: str | None = None
    """Why it is so, for people."""
    node_allocatable_resource_claim_statuses: list[NodeAllocatableResourceClaimStatus] | None = None
    """The node's own resources that it got by claims."""
    nominated_node_name: str | None = None
    """The node where others make room for it."""
    observed_generation: int | None = None
    """The generation that this status is about."""
    phase: str | None = None
    """`Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`."""
    pod_ip: str | None = field(default=None, name="podIP")
    """Its address."""
    pod_ips: list[PodIP] | None = field(default=None, name="podIPs")
    """Its addresses, one for each IP family."""
    qos_class: str | None = None
    """How well it is served when resources are short: `Guaranteed`, `Burstable` or `BestEffort`."""
    reason: str | None = None
    """Why it is so, as one word."""
    resize: str | None = None
    """How far a change of resources has come; now told by conditions."""
    resource_claim_statuses: list[PodResourceClaimStatus] | None = None
    """The claims that were made for it."""
    resources: ResourceRequirements | None = None
    """What its containers together were given."""
    start_time: Time | None = None
    """When its node took it on."""
    volume_health: list[PodVolumeHealth] | None = None
    """How its volumes are, as seen from its node."""

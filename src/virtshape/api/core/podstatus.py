"""Structs for the status of pods and their containers."""

from msgspec import field

from virtshape.api.core.claim import VolumeHealthCondition
from virtshape.api.core.container import ResourceRequirements
from virtshape.api.model import Int32, Model, Time
from virtshape.api.quantity import Quantity


class PodCondition(Model):
    """A condition of a pod."""

    type: str
    """Type of the condition."""
    status: str
    """Status of the condition: `True`, `False` or `Unknown`."""
    last_probe_time: Time | None = None
    """When the condition was last checked."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    message: str | None = None
    """Human-readable details of the condition."""
    observed_generation: int | None = None
    """The generation that the condition refers to."""
    reason: str | None = None
    """Reason for the status, in CamelCase."""


class HostIP(Model):
    """An address of a node."""

    ip: str
    """IP address of the node."""


class PodIP(Model):
    """An address of a pod."""

    ip: str
    """IP address of the pod."""


class PodVolumeHealth(Model):
    """Health of a volume of a pod."""

    name: str
    """The volume's name in the pod."""
    health_conditions: list[VolumeHealthCondition] | None = None
    """Health problems; empty if the volume is healthy."""
    last_transition_time: Time | None = None
    """When the list of health problems last changed."""


class PodResourceClaimStatus(Model):
    """A claim that was created for a pod."""

    name: str
    """Name of the claim in the pod."""
    resource_claim_name: str | None = None
    """Name of the ResourceClaim."""


class ContainerExtendedResourceRequest(Model):
    """The claim request for an extended resource of a container."""

    container_name: str
    """Name of the container."""
    request_name: str
    """Name of the request in the claim."""
    resource_name: str
    """Name of the extended resource."""


class PodExtendedResourceClaimStatus(Model):
    """The claim that was created for a pod's extended resources."""

    request_mappings: list[ContainerExtendedResourceRequest]
    """The claim request of each extended resource."""
    resource_claim_name: str
    """Name of the ResourceClaim."""


class NodeAllocatableMappedResources(Model):
    """An amount of a node's resource, allocated through a claim."""

    name: str
    """Name of the resource."""
    quantity: Quantity
    """Amount of the resource."""


class NodeAllocatableOverheadResources(Model):
    """Additional node resources that a claim needs."""

    name: str
    """Name of the resource."""
    per_container: Quantity | None = None
    """Amount for each container."""
    per_pod: Quantity | None = None
    """Amount for the pod."""


class NodeAllocatableResourceClaimStatus(Model):
    """Node resources that are allocated to a pod through a claim."""

    resource_claim_name: str
    """Name of the ResourceClaim."""
    containers: list[str] | None = None
    """The containers that use the claim."""
    mapping: list[NodeAllocatableMappedResources] | None = None
    """Node resources that are allocated through the claim."""
    overhead: list[NodeAllocatableOverheadResources] | None = None
    """Overhead of the claim."""


class ContainerStateRunning(Model):
    """A running container."""

    started_at: Time | None = None
    """When the container started."""


class ContainerStateTerminated(Model):
    """A container that has terminated."""

    exit_code: Int32
    """Exit code of the container."""
    container_id: str | None = field(default=None, name="containerID")
    """Container ID in the runtime."""
    finished_at: Time | None = None
    """When the container terminated."""
    message: str | None = None
    """Termination message of the container."""
    reason: str | None = None
    """Reason for the termination, in CamelCase."""
    signal: Int32 | None = None
    """Signal that terminated the container."""
    started_at: Time | None = None
    """When the container started."""


class ContainerStateWaiting(Model):
    """A container that has not started yet."""

    message: str | None = None
    """Human-readable reason for waiting."""
    reason: str | None = None
    """Reason for waiting, in CamelCase."""


class ContainerState(Model):
    """State of a container; exactly one field is set."""

    running: ContainerStateRunning | None = None
    """The container is running."""
    terminated: ContainerStateTerminated | None = None
    """The container has terminated."""
    waiting: ContainerStateWaiting | None = None
    """The container has not started yet."""


class LinuxContainerUser(Model):
    """User and groups of a container on Linux."""

    gid: int
    """ID of the primary group."""
    uid: int
    """ID of the user."""
    supplemental_groups: list[int] | None = None
    """IDs of the supplementary groups."""


class ContainerUser(Model):
    """User and groups of a container."""

    linux: LinuxContainerUser | None = None
    """User and groups on Linux."""


class ResourceHealth(Model):
    """Health of a device."""

    resource_id: str = field(name="resourceID")
    """ID of the device."""
    health: str | None = None
    """Health of the device: `Healthy`, `Unhealthy` or `Unknown`."""
    message: str | None = None
    """Human-readable details of the device's health."""


class ResourceStatus(Model):
    """Health of the devices of a resource."""

    name: str
    """Name of the resource."""
    resources: list[ResourceHealth] | None = None
    """Health of each device."""


class ImageVolumeStatus(Model):
    """An image that was mounted."""

    image_ref: str
    """Digest of the image."""


class VolumeStatus(Model):
    """Status of the mounted volume."""

    image: ImageVolumeStatus | None = None
    """Status of an image volume."""


class VolumeMountStatus(Model):
    """A volume mount of a container."""

    name: str
    """The volume's name in the pod."""
    mount_path: str
    """Path in the container."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    recursive_read_only: str | None = None
    """Whether nested mounts are read-only too."""
    volume_status: VolumeStatus | None = None
    """Status of the mounted volume."""


class ContainerStatus(Model):
    """Observed state of a container."""

    name: str
    """Name of the container in the pod."""
    image: str
    """Image of the container."""
    image_id: str = field(name="imageID")
    """Digest of the container's image."""
    ready: bool
    """Whether the container is ready."""
    restart_count: Int32
    """Number of times that the container was restarted."""
    allocated_resources: dict[str, Quantity] | None = None
    """Resources that the node has allocated."""
    allocated_resources_status: list[ResourceStatus] | None = None
    """Health of the container's allocated devices."""
    container_id: str | None = field(default=None, name="containerID")
    """Container ID in the runtime."""
    last_state: ContainerState | None = None
    """State of the container before its last restart."""
    resources: ResourceRequirements | None = None
    """Resources of the running container."""
    started: bool | None = None
    """Whether the startup probe has succeeded."""
    state: ContainerState | None = None
    """Current state of the container."""
    stop_signal: str | None = None
    """Signal that stops the container."""
    user: ContainerUser | None = None
    """User and groups of the container."""
    volume_mounts: list[VolumeMountStatus] | None = None
    """Volume mounts of the container."""


class PodStatus(Model):
    """Observed state of a pod."""

    allocated_resources: dict[str, Quantity] | None = None
    """Resources that the node has allocated."""
    conditions: list[PodCondition] | None = None
    """Current conditions of the pod."""
    container_statuses: list[ContainerStatus] | None = None
    """Status of the containers."""
    ephemeral_container_statuses: list[ContainerStatus] | None = None
    """Status of the ephemeral containers."""
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    """The claim that was created for the pod's extended resources."""
    host_ip: str | None = field(default=None, name="hostIP")
    """Address of the pod's node."""
    host_ips: list[HostIP] | None = field(default=None, name="hostIPs")
    """Addresses of the pod's node."""
    init_container_statuses: list[ContainerStatus] | None = None
    """Status of the init containers."""
    message: str | None = None
    """Human-readable details of the current state."""
    node_allocatable_resource_claim_statuses: list[NodeAllocatableResourceClaimStatus] | None = None
    """Node resources that are allocated to the pod through claims."""
    nominated_node_name: str | None = None
    """Node on which preemption makes room for the pod."""
    observed_generation: int | None = None
    """The generation that this status refers to."""
    phase: str | None = None
    """Phase of the pod: `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`."""
    pod_ip: str | None = field(default=None, name="podIP")
    """Address of the pod."""
    pod_ips: list[PodIP] | None = field(default=None, name="podIPs")
    """Addresses of the pod, one for each IP family."""
    qos_class: str | None = None
    """Quality of service class: `Guaranteed`, `Burstable` or `BestEffort`."""
    reason: str | None = None
    """Reason for the current state, in CamelCase."""
    resize: str | None = None
    """Deprecated: state of a resource resize; replaced by conditions."""
    resource_claim_statuses: list[PodResourceClaimStatus] | None = None
    """The claims that were created for the pod."""
    resources: ResourceRequirements | None = None
    """Resources of the pod as a whole."""
    start_time: Time | None = None
    """When the node accepted the pod."""
    volume_health: list[PodVolumeHealth] | None = None
    """Health of the pod's volumes, as reported by the node."""

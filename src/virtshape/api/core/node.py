"""Structs for nodes."""

from msgspec import field

from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Int32, Model, Time
from virtshape.api.quantity import Quantity


class NodePodPreemptionPolicy(Model):
    """Preemption policy of a node."""

    disable_resize_preemption: list[str] | None = None
    """Components that disabled preemption for resizes."""


class Taint(Model):
    """A taint, which repels pods that do not tolerate it."""

    effect: str
    """Effect on pods that do not tolerate the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`."""
    key: str
    """Key of the taint."""
    time_added: Time | None = None
    """When the taint was added."""
    value: str | None = None
    """Value of the taint."""


class ConfigMapNodeConfigSource(Model):
    """A config map with a kubelet's configuration; no longer used."""

    name: str
    """The config map's name."""
    kubelet_config_key: str
    """The key of the configuration."""
    namespace: str
    """The config map's namespace."""
    resource_version: str | None = None
    """The version of the config map."""
    uid: str | None = None
    """The config map's UID."""


class NodeConfigSource(Model):
    """Source of a kubelet's configuration; no longer used."""

    config_map: ConfigMapNodeConfigSource | None = None
    """Config map with the configuration."""


class NodeSpec(Model):
    """Desired state of a node."""

    config_source: NodeConfigSource | None = None
    """Source of the kubelet's configuration; no longer used."""
    external_id: str | None = field(default=None, name="externalID")
    """External ID of the node; no longer used."""
    pod_cidr: str | None = field(default=None, name="podCIDR")
    """Address range of the node's pods."""
    pod_cidrs: list[str] | None = field(default=None, name="podCIDRs")
    """Address ranges of the node's pods, at most one for each IP family."""
    pod_preemption_policy: NodePodPreemptionPolicy | None = None
    """Preemption policy of the node."""
    provider_id: str | None = field(default=None, name="providerID")
    """Identifier of the machine at the cloud provider."""
    taints: list[Taint] | None = None
    """Taints of the node."""
    unschedulable: bool | None = None
    """Whether new pods cannot be scheduled on the node."""


class NodeCondition(Model):
    """A condition of a node."""

    type: str
    """Type of the condition."""
    status: str
    """Status of the condition: `True`, `False` or `Unknown`."""
    last_heartbeat_time: Time | None = None
    """When the condition was last checked."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    message: str | None = None
    """Human-readable details of the condition."""
    reason: str | None = None
    """Reason for the status, in CamelCase."""


class NodeAddress(Model):
    """An address of a node."""

    type: str
    """Type: `InternalIP`, `ExternalIP`, `Hostname`, `InternalDNS` or `ExternalDNS`."""
    address: str
    """The address or name."""


class NodeConfigStatus(Model):
    """Configuration of a kubelet; no longer used."""

    active: NodeConfigSource | None = None
    """The configuration that the kubelet uses."""
    assigned: NodeConfigSource | None = None
    """The configuration that the kubelet should use."""
    error: str | None = None
    """Error that prevents the use of the assigned configuration."""
    last_known_good: NodeConfigSource | None = None
    """The configuration that the kubelet uses if the assigned one fails."""


class DaemonEndpoint(Model):
    """Endpoint of a daemon."""

    port: Int32 = field(name="Port")
    """Port that the daemon listens on."""


class NodeDaemonEndpoints(Model):
    """Endpoints of a node's daemons."""

    kubelet_endpoint: DaemonEndpoint | None = None
    """Endpoint of the kubelet."""


class NodeFeatures(Model):
    """Features of a node's container runtime."""

    supplemental_groups_policy: bool | None = None
    """Whether pods can set a policy for supplementary groups."""


class ContainerImage(Model):
    """A container image on a node."""

    names: list[str] | None = None
    """Names of the image."""
    size_bytes: int | None = None
    """Size of the image in bytes."""


class NodeSwapStatus(Model):
    """A node's swap space."""

    capacity: int | None = None
    """Size of the swap space in bytes."""


class NodeSystemInfo(Model):
    """A node's hardware and software."""

    architecture: str
    """CPU architecture of the node."""
    boot_id: str = field(name="bootID")
    """Identifier of the current boot."""
    container_runtime_version: str
    """The container runtime and its version."""
    kernel_version: str
    """The version of the kernel."""
    kube_proxy_version: str
    """The version of kube-proxy; no longer used."""
    kubelet_version: str
    """The version of the kubelet."""
    machine_id: str = field(name="machineID")
    """Identifier of the machine."""
    operating_system: str
    """The operating system, such as `linux`."""
    os_image: str
    """The operating system's name and version."""
    system_uuid: str = field(name="systemUUID")
    """The UUID in the firmware."""
    running_in_user_namespace: bool | None = None
    """Whether the kubelet runs in a user namespace."""
    swap: NodeSwapStatus | None = None
    """Swap space of the node."""


class NodeRuntimeHandlerFeatures(Model):
    """Features of a runtime handler."""

    recursive_read_only_mounts: bool | None = None
    """Whether recursive read-only mounts are supported."""
    user_namespaces: bool | None = None
    """Whether pods can use user namespaces."""


class NodeRuntimeHandler(Model):
    """A runtime handler of a node."""

    name: str | None = None
    """Name of the handler; empty for the default handler."""
    features: NodeRuntimeHandlerFeatures | None = None
    """Features of the runtime handler."""


class AttachedVolume(Model):
    """A volume attached to a node."""

    name: str
    """Name of the attached volume."""
    device_path: str
    """Path of the volume's device on the node."""


class NodeStatus(Model):
    """Observed state of a node."""

    addresses: list[NodeAddress] | None = None
    """Addresses of the node."""
    allocatable: dict[str, Quantity] | None = None
    """Resources available for pods."""
    capacity: dict[str, Quantity] | None = None
    """Total resources of the node."""
    conditions: list[NodeCondition] | None = None
    """Current conditions of the node."""
    config: NodeConfigStatus | None = None
    """Configuration of the kubelet; no longer used."""
    daemon_endpoints: NodeDaemonEndpoints | None = None
    """Endpoints of the node's daemons."""
    declared_features: list[str] | None = None
    """Feature gates that the node reports as enabled."""
    features: NodeFeatures | None = None
    """Features of the node's container runtime."""
    images: list[ContainerImage] | None = None
    """Container images on the node."""
    node_info: NodeSystemInfo | None = None
    """Hardware and software of the node."""
    phase: str | None = None
    """Phase of the node; no longer used."""
    runtime_handlers: list[NodeRuntimeHandler] | None = None
    """Runtime handlers of the node."""
    volumes_attached: list[AttachedVolume] | None = None
    """The volumes attached to the node."""
    volumes_in_use: list[str] | None = None
    """The volumes that the node's pods use."""


class Node(KubernetesObject, kw_only=True):
    """A machine that pods run on."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """The kind of this object: `Node`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: NodeSpec | None = None
    """Desired state of the node."""
    status: NodeStatus | None = None
    """Observed state of the node."""

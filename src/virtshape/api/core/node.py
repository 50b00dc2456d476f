"""
Nodes: the machines that pods run on, and how they are.

Only structs: nothing here places a pod or watches a machine.
"""

from msgspec import field

from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Int32, Model, Time
from virtshape.api.quantity import Quantity


class NodePodPreemptionPolicy(Model):
    """Whose pods may be displaced on a node."""

    disable_resize_preemption: list[str] | None = None
    """Who asked that no pod be displaced for another one's growth."""


class Taint(Model):
    """What keeps pods away from a node."""

    effect: str
    """How: `NoSchedule`, `PreferNoSchedule` or `NoExecute`."""
    key: str
    """The taint's key."""
    time_added: Time | None = None
    """When it came."""
    value: str | None = None
    """The taint's value."""


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
    """Where a kubelet's configuration was; no longer used."""

    config_map: ConfigMapNodeConfigSource | None = None
    """The config map."""


class NodeSpec(Model):
    """What a node is and whom it takes."""

    config_source: NodeConfigSource | None = None
    """Where its kubelet's configuration was; no longer used."""
    external_id: str | None = field(default=None, name="externalID")
    """Its name outside the cluster; no longer used."""
    pod_cidr: str | None = field(default=None, name="podCIDR")
    """The addresses of its pods."""
    pod_cidrs: list[str] | None = field(default=None, name="podCIDRs")
    """The addresses of its pods, at most one range for each IP family."""
    pod_preemption_policy: NodePodPreemptionPolicy | None = None
    """Whose pods may be displaced here."""
    provider_id: str | None = field(default=None, name="providerID")
    """What the cloud calls the machine."""
    taints: list[Taint] | None = None
    """What keeps pods away that do not tolerate it."""
    unschedulable: bool | None = None
    """Whether new pods are kept away."""


class NodeCondition(Model):
    """One observed fact about a node."""

    type: str
    """Which fact."""
    status: str
    """Whether it holds: `True`, `False` or `Unknown`."""
    last_heartbeat_time: Time | None = None
    """When it was last looked at."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    message: str | None = None
    """The details, for people."""
    reason: str | None = None
    """The cause, as one word."""


class NodeAddress(Model):
    """Where a node can be reached."""

    type: str
    """What it is: `InternalIP`, `ExternalIP`, `Hostname`, `InternalDNS` or `ExternalDNS`."""
    address: str
    """The address or name."""


class NodeConfigStatus(Model):
    """Which configuration a kubelet uses; no longer used."""

    active: NodeConfigSource | None = None
    """The one in use."""
    assigned: NodeConfigSource | None = None
    """The one that it should use."""
    error: str | None = None
    """Why it does not use that."""
    last_known_good: NodeConfigSource | None = None
    """The one to fall back to."""


class DaemonEndpoint(Model):
    """Where one daemon listens."""

    port: Int32 = field(name="Port")
    """The port."""


class NodeDaemonEndpoints(Model):
    """Where a node's daemons listen."""

    kubelet_endpoint: DaemonEndpoint | None = None
    """Where the kubelet listens."""


class NodeFeatures(Model):
    """What a node's container runtime can do."""

    supplemental_groups_policy: bool | None = None
    """Whether pods can choose how supplementary groups are found."""


class ContainerImage(Model):
    """An image that a node holds."""

    names: list[str] | None = None
    """What it is called."""
    size_bytes: int | None = None
    """How large it is."""


class NodeSwapStatus(Model):
    """A node's swap space."""

    capacity: int | None = None
    """How many bytes."""


class NodeSystemInfo(Model):
    """A node's hardware and software."""

    architecture: str
    """The processor architecture."""
    boot_id: str = field(name="bootID")
    """What tells this boot from others."""
    container_runtime_version: str
    """The container runtime and its version."""
    kernel_version: str
    """The version of the kernel."""
    kube_proxy_version: str
    """The version of kube-proxy; no longer used."""
    kubelet_version: str
    """The version of the kubelet."""
    machine_id: str = field(name="machineID")
    """What tells this machine from others."""
    operating_system: str
    """The kind of operating system."""
    os_image: str
    """The operating system's name and version."""
    system_uuid: str = field(name="systemUUID")
    """The UUID in the firmware."""
    running_in_user_namespace: bool | None = None
    """Whether the kubelet runs without the host's root."""
    swap: NodeSwapStatus | None = None
    """Its swap space."""


class NodeRuntimeHandlerFeatures(Model):
    """What a way of running containers can do."""

    recursive_read_only_mounts: bool | None = None
    """Whether mounts can be read-only with all below them."""
    user_namespaces: bool | None = None
    """Whether pods can have users of their own."""


class NodeRuntimeHandler(Model):
    """A way in which a node can run containers."""

    name: str | None = None
    """Its name; empty for the default one."""
    features: NodeRuntimeHandlerFeatures | None = None
    """What it can do."""


class AttachedVolume(Model):
    """A volume attached to a node."""

    name: str
    """The volume's name."""
    device_path: str
    """Its device on the node."""


class NodeStatus(Model):
    """How a node is."""

    addresses: list[NodeAddress] | None = None
    """Where it can be reached."""
    allocatable: dict[str, Quantity] | None = None
    """What pods can have of it."""
    capacity: dict[str, Quantity] | None = None
    """What it has."""
    conditions: list[NodeCondition] | None = None
    """The observed facts."""
    config: NodeConfigStatus | None = None
    """Which configuration its kubelet uses; no longer used."""
    daemon_endpoints: NodeDaemonEndpoints | None = None
    """Where its daemons listen."""
    declared_features: list[str] | None = None
    """The switchable features that it says it has."""
    features: NodeFeatures | None = None
    """What its container runtime can do."""
    images: list[ContainerImage] | None = None
    """The images that it holds."""
    node_info: NodeSystemInfo | None = None
    """Its hardware and software."""
    phase: str | None = None
    """Its stage of life; no longer used."""
    runtime_handlers: list[NodeRuntimeHandler] | None = None
    """The ways in which it can run containers."""
    volumes_attached: list[AttachedVolume] | None = None
    """The volumes attached to it."""
    volumes_in_use: list[str] | None = None
    """The volumes that its pods use."""


class Node(Model, kw_only=True):
    """A machine that pods run on."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """`Node`."""
    metadata: ObjectMeta | None = None
    """The object's name, labels and the like."""
    spec: NodeSpec | None = None
    """The node, as wanted."""
    status: NodeStatus | None = None
    """The node, as observed."""

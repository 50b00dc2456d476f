"""Structs of the KubeVirt object for the components: certificates, limits, logging, placement, updates."""

from msgspec import field

from virtshape.api.core.scheduling import Affinity, Toleration
from virtshape.api.model import Duration, Int32, Model, Settings


class CertConfig(Model):
    """Lifetime of one kind of certificate."""

    duration: Duration | None = None
    """How long a certificate is valid, such as 24h."""
    renew_before: Duration | None = None
    """How long before its end it is replaced; shorter than duration."""


class KubeVirtSelfSignConfiguration(Model):
    """Lifetimes of certificates that the system signs itself."""

    ca: CertConfig | None = None
    """The authority's certificate, a week by default; an old one stays trusted until it ends."""
    server: CertConfig | None = None
    """The components' certificates, a day by default; an old one is dropped at once."""
    ca_rotate_interval: Duration | None = None
    """Deprecated in favour of ca.duration."""
    ca_overlap_interval: Duration | None = None
    """Deprecated in favour of ca.renewBefore."""
    cert_rotate_interval: Duration | None = None
    """Deprecated in favour of server.duration."""


class KubeVirtCertificateRotateStrategy(Model):
    """Where the system's certificates come from."""

    self_signed: KubeVirtSelfSignConfiguration | None = None
    """Signed by the system itself; the only choice."""


class TokenBucketRateLimiter(Settings):
    """A limit on requests that allows short bursts."""

    burst: Int32
    """How many requests may go out at once; 0 for the component's default."""
    qps: float
    """How many requests per second may go out in the long run; 0 for the component's default."""


class RateLimiter(Settings):
    """A limit on requests."""

    token_bucket_rate_limiter: TokenBucketRateLimiter | None = None
    """By a token bucket; the only choice."""


class RESTClientConfiguration(Settings):
    """How a component talks to the API server."""

    rate_limiter: RateLimiter | None = None
    """How many requests it may send."""


class ReloadableComponentConfiguration(Settings):
    """Settings that a component takes over without a restart."""

    rest_client: RESTClientConfiguration | None = None
    """How it talks to the API server."""


class LogVerbosity(Settings):
    """How much each component logs, from 0 to 9; 2 by default."""

    virt_api: Int32 | None = field(default=None, name="virtAPI")
    """Verbosity of the API server."""
    virt_controller: Int32 | None = None
    """Verbosity of the controllers."""
    virt_handler: Int32 | None = None
    """Verbosity of the agents on the nodes."""
    virt_launcher: Int32 | None = None
    """Verbosity of the launchers, one per running VM."""
    virt_operator: Int32 | None = None
    """Verbosity of the operator that installs the rest."""
    virt_synchronization_controller: Int32 | None = None
    """Verbosity of the controller that moves VMs between clusters."""
    node_verbosity: dict[str, Int32] | None = None
    """Verbosity of the agent by node name; overrides virtHandler."""


class TLSConfiguration(Settings):
    """What the system's TLS servers accept."""

    min_tls_version: str | None = field(default=None, name="minTLSVersion")
    """Oldest protocol: VersionTLS10, VersionTLS11, VersionTLS12 (default) or VersionTLS13."""
    ciphers: list[str] | None = None
    """Cipher suites by their IANA names; not with VersionTLS13, which has its own."""


class Flags(Model):
    """Command-line flags to add to the system's components, by name without dashes."""

    api: dict[str, str] | None = None
    """Flags of the API server."""
    controller: dict[str, str] | None = None
    """Flags of the controllers."""
    handler: dict[str, str] | None = None
    """Flags of the agents on the nodes."""


class CustomizeComponentsPatch(Model):
    """A change to one of the objects that make up the installation."""

    type: str
    """How the patch is written: json, merge or strategic."""
    patch: str
    """The patch itself, as JSON text."""
    resource_name: str
    """Name of the object, such as virt-controller; * for all of that type."""
    resource_type: str
    """Kind of the object, such as Deployment."""


class CustomizeComponents(Model):
    """Changes to the installation; they last across updates of the system."""

    patches: list[CustomizeComponentsPatch] | None = None
    """Patches, applied in this order."""
    flags: Flags | None = None
    """Command-line flags to add."""


class NodePlacement(Model):
    """Where pods may run."""

    node_selector: dict[str, str] | None = None
    """Labels that a node must have."""
    affinity: Affinity | None = None
    """Affinity rules of the pods."""
    tolerations: list[Toleration] | None = None
    """Taints that the pods tolerate, in addition to the default ones."""


class ComponentConfig(Model):
    """Number and place of a group of components."""

    node_placement: NodePlacement | None = None
    """Where they may run."""
    replicas: int | None = None
    """How many of each; absent for a number that suits the cluster's size."""


class KubeVirtWorkloadUpdateStrategy(Model):
    """How running VMs get a new launcher after an update of the system."""

    workload_update_methods: list[str] | None = None
    """LiveMigrate, Evict (which restarts the VM) or both, the gentler first; empty to leave running VMs alone."""
    batch_eviction_size: Int32 | None = None
    """How many VMs to evict at a time; 10 by default."""
    batch_eviction_interval: Duration | None = None
    """How long to wait between two batches; 1m by default."""

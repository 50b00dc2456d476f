"""Structs in the KubeVirt object that configure components: certificates, rate limits, logging, placement, updates."""

from msgspec import field

from virtshape.api.core.scheduling import Affinity, Toleration
from virtshape.api.model import Duration, Int32, Model, Settings


class CertConfig(Model):
    """Lifetime of one kind of certificate."""

    duration: Duration | None = None
    """How long a certificate is valid, such as 24h."""
    renew_before: Duration | None = None
    """How long before its expiry a certificate is renewed; must be shorter than duration."""


class KubeVirtSelfSignConfiguration(Model):
    """Lifetimes of self-signed certificates."""

    ca: CertConfig | None = None
    """Lifetime of the CA's certificate, a week by default; an old certificate stays trusted until it expires."""
    server: CertConfig | None = None
    """Lifetime of the components' certificates, a day by default; an old certificate is replaced immediately."""
    ca_rotate_interval: Duration | None = None
    """Deprecated in favour of ca.duration."""
    ca_overlap_interval: Duration | None = None
    """Deprecated in favour of ca.renewBefore."""
    cert_rotate_interval: Duration | None = None
    """Deprecated in favour of server.duration."""


class KubeVirtCertificateRotateStrategy(Model):
    """Source of the certificates of the components."""

    self_signed: KubeVirtSelfSignConfiguration | None = None
    """Self-signed certificates; the only supported source."""


class TokenBucketRateLimiter(Settings):
    """A limit on requests that allows short bursts."""

    burst: Int32
    """Maximum burst of requests; 0 for the component's default."""
    qps: float
    """Requests per second on average; 0 for the component's default."""


class RateLimiter(Settings):
    """A limit on requests."""

    token_bucket_rate_limiter: TokenBucketRateLimiter | None = None
    """Token bucket; the only supported type."""


class RESTClientConfiguration(Settings):
    """Settings of a component's API client."""

    rate_limiter: RateLimiter | None = None
    """Rate limit of requests."""


class ReloadableComponentConfiguration(Settings):
    """Settings that a component applies without a restart."""

    rest_client: RESTClientConfiguration | None = None
    """Settings of the component's API client."""


class LogVerbosity(Settings):
    """Log verbosity of each component, from 0 to 9; 2 by default."""

    virt_api: Int32 | None = field(default=None, name="virtAPI")
    """Verbosity of the API server."""
    virt_controller: Int32 | None = None
    """Verbosity of the controllers."""
    virt_handler: Int32 | None = None
    """Verbosity of the agents on the nodes."""
    virt_launcher: Int32 | None = None
    """Verbosity of the launchers; each running VM has its own launcher."""
    virt_operator: Int32 | None = None
    """Verbosity of the operator that installs the other components."""
    virt_synchronization_controller: Int32 | None = None
    """Verbosity of the controller for migrations between clusters."""
    node_verbosity: dict[str, Int32] | None = None
    """Verbosity of the agents by node name; overrides virtHandler."""


class TLSConfiguration(Settings):
    """TLS settings of the components' servers."""

    min_tls_version: str | None = field(default=None, name="minTLSVersion")
    """Oldest protocol: VersionTLS10, VersionTLS11, VersionTLS12 (default) or VersionTLS13."""
    ciphers: list[str] | None = None
    """Cipher suites by their IANA names; not allowed with VersionTLS13, whose suites are fixed."""


class Flags(Model):
    """Additional command-line flags of the components, by name without dashes."""

    api: dict[str, str] | None = None
    """Flags of the API server."""
    controller: dict[str, str] | None = None
    """Flags of the controllers."""
    handler: dict[str, str] | None = None
    """Flags of the agents on the nodes."""


class CustomizeComponentsPatch(Model):
    """A patch for an installed object."""

    type: str
    """Type of the patch: json, merge or strategic."""
    patch: str
    """The patch itself, as JSON text."""
    resource_name: str
    """Name of the object, such as virt-controller; * for all objects of the type."""
    resource_type: str
    """Kind of the object, such as Deployment."""


class CustomizeComponents(Model):
    """Patches and flags for the installation; they are kept across updates."""

    patches: list[CustomizeComponentsPatch] | None = None
    """Patches, applied in this order."""
    flags: Flags | None = None
    """Command-line flags to add."""


class NodePlacement(Model):
    """Scheduling constraints of pods."""

    node_selector: dict[str, str] | None = None
    """Labels that a node must have."""
    affinity: Affinity | None = None
    """Affinity rules of the pods."""
    tolerations: list[Toleration] | None = None
    """Taints that the pods tolerate, in addition to those tolerated by default."""


class ComponentConfig(Model):
    """Replicas and scheduling constraints of a group of components."""

    node_placement: NodePlacement | None = None
    """Scheduling constraints of the components."""
    replicas: int | None = None
    """Replicas of each component; depends on the size of the cluster if absent."""


class KubeVirtWorkloadUpdateStrategy(Model):
    """How running VMs get a new launcher after an update of KubeVirt."""

    workload_update_methods: list[str] | None = None
    """Methods: LiveMigrate, Evict (which restarts the VM) or both; empty to keep running VMs unchanged."""
    batch_eviction_size: Int32 | None = None
    """Number of VMs to evict at a time; 10 by default."""
    batch_eviction_interval: Duration | None = None
    """How long to wait between two batches; 1m by default."""

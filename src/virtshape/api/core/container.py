"""Structs of containers: image, environment, ports, probes and resources."""

from msgspec import field

from virtshape.api.core.pod import (
    ExecAction,
    HTTPGetAction,
    ObjectFieldSelector,
    ResourceFieldSelector,
    TCPSocketAction,
)
from virtshape.api.core.security import SecurityContext
from virtshape.api.model import Int32, Model
from virtshape.api.quantity import Quantity


class ResourceClaim(Model):
    """A use of one of the pod's resource claims."""

    name: str
    """The claim's name in the pod."""
    request: str | None = None
    """Name of a request in the claim; all requests if absent."""


class ResourceRequirements(Model):
    """Resource requests and limits of a container or pod."""

    claims: list[ResourceClaim] | None = None
    """The resource claims that the container or pod uses."""
    limits: dict[str, Quantity] | None = None
    """The limits, by resource."""
    requests: dict[str, Quantity] | None = None
    """The requests, by resource."""


class ConfigMapKeySelector(Model):
    """A key in a config map."""

    key: str
    """The key."""
    name: str | None = None
    """The config map's name."""
    optional: bool | None = None
    """Whether the config map or the key may be missing."""


class SecretKeySelector(Model):
    """A key in a secret."""

    key: str
    """The key."""
    name: str | None = None
    """The secret's name."""
    optional: bool | None = None
    """Whether the secret or the key may be missing."""


class FileKeySelector(Model):
    """A key in a file on a volume."""

    key: str
    """The key."""
    path: str
    """The file's path in the volume."""
    volume_name: str
    """The volume."""
    optional: bool | None = None
    """Whether the file or the key may be missing."""


class EnvVarSource(Model):
    """Where a variable's value comes from; exactly one field must be set."""

    config_map_key_ref: ConfigMapKeySelector | None = None
    """A key in a config map."""
    field_ref: ObjectFieldSelector | None = None
    """A field of the pod."""
    file_key_ref: FileKeySelector | None = None
    """A key in a file."""
    resource_field_ref: ResourceFieldSelector | None = None
    """A limit or request of a container."""
    secret_key_ref: SecretKeySelector | None = None
    """A key in a secret."""


class EnvVar(Model):
    """An environment variable."""

    name: str
    """Name of the variable."""
    value: str | None = None
    """Value of the variable."""
    value_from: EnvVarSource | None = None
    """Where the value of the variable comes from."""


class ConfigMapEnvSource(Model):
    """A config map whose keys become variables."""

    name: str | None = None
    """The config map's name."""
    optional: bool | None = None
    """Whether the config map may be missing."""


class SecretEnvSource(Model):
    """A secret whose keys become variables."""

    name: str | None = None
    """The secret's name."""
    optional: bool | None = None
    """Whether the secret may be missing."""


class EnvFromSource(Model):
    """Variables taken from all keys of an object."""

    config_map_ref: ConfigMapEnvSource | None = None
    """The config map."""
    prefix: str | None = None
    """Prefix of each variable name."""
    secret_ref: SecretEnvSource | None = None
    """The secret."""


class SleepAction(Model):
    """A pause in a lifecycle hook."""

    seconds: int
    """Seconds to sleep."""


class LifecycleHandler(Model):
    """An action of a lifecycle hook; exactly one field must be set."""

    exec: ExecAction | None = None
    """Run a command."""
    http_get: HTTPGetAction | None = None
    """Send an HTTP GET request."""
    sleep: SleepAction | None = None
    """Sleep for some seconds."""
    tcp_socket: TCPSocketAction | None = None
    """Deprecated and not used."""


class Lifecycle(Model):
    """Lifecycle hooks of a container."""

    post_start: LifecycleHandler | None = None
    """Action after the container starts."""
    pre_stop: LifecycleHandler | None = None
    """Action before the container stops."""
    stop_signal: str | None = None
    """Signal that stops the container."""


class GRPCAction(Model):
    """A query to a gRPC health service."""

    port: Int32
    """The port."""
    mode: str | None = None
    """`Plaintext` (default) or `TLS`, whose certificate is not verified."""
    service: str | None = None
    """Name of the service to check."""


class Probe(Model):
    """A repeated check of a container."""

    exec: ExecAction | None = None
    """Run a command."""
    failure_threshold: Int32 | None = None
    """Consecutive failures until the probe fails; 3 if absent."""
    grpc: GRPCAction | None = None
    """Query a gRPC health service."""
    http_get: HTTPGetAction | None = None
    """Send an HTTP GET request."""
    initial_delay_seconds: Int32 | None = None
    """Seconds before the first check."""
    period_seconds: Int32 | None = None
    """Seconds between checks; 10 if absent."""
    success_threshold: Int32 | None = None
    """Consecutive successes until the probe succeeds; 1 if absent."""
    tcp_socket: TCPSocketAction | None = None
    """Open a TCP connection."""
    termination_grace_period_seconds: int | None = None
    """Seconds for a graceful shutdown after the probe fails."""
    timeout_seconds: Int32 | None = None
    """Timeout of one check in seconds; 1 if absent."""


class ContainerPort(Model):
    """A port of a container."""

    container_port: Int32
    """The port's number."""
    name: str | None = None
    """The port's name."""
    host_ip: str | None = field(default=None, name="hostIP")
    """The node's address that the port is bound to."""
    host_port: Int32 | None = None
    """The port's number on the node."""
    protocol: str | None = None
    """`TCP` (default), `UDP` or `SCTP`."""


class ContainerResizePolicy(Model):
    """Whether a container is restarted when a resource changes."""

    resource_name: str
    """The resource."""
    restart_policy: str
    """`NotRequired` or `RestartContainer`."""


class ContainerRestartRuleOnExitCodes(Model):
    """Exit codes that a restart rule applies to."""

    operator: str
    """Operator: `In` or `NotIn`."""
    values: list[Int32] | None = None
    """The exit codes."""


class ContainerRestartRule(Model):
    """A rule that restarts a container."""

    action: str
    """Action of the rule: `Restart`."""
    exit_codes: ContainerRestartRuleOnExitCodes | None = None
    """Exit codes that the rule applies to."""


class VolumeDevice(Model):
    """A raw device in a container."""

    name: str
    """Name of the claim's volume in the pod."""
    device_path: str
    """Path in the container."""


class VolumeMount(Model):
    """A volume in a container's file system."""

    name: str
    """The volume's name in the pod."""
    mount_path: str
    """Path in the container."""
    bind_mount_options: list[str] | None = None
    """Additional mount options: `noexec`, `nodev` and `nosuid`."""
    mount_propagation: str | None = None
    """Mount propagation between container and node."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    recursive_read_only: str | None = None
    """Whether nested mounts are read-only too: `Disabled`, `IfPossible` or `Enabled`."""
    sub_path: str | None = None
    """Path within the volume to mount."""
    sub_path_expr: str | None = None
    """Path within the volume to mount, with variables expanded."""


class Container(Model):
    """A container of a pod."""

    name: str
    """Name of the container in the pod."""
    args: list[str] | None = None
    """The arguments; the image's if absent."""
    command: list[str] | None = None
    """The command; the image's if absent."""
    env: list[EnvVar] | None = None
    """Environment variables of the container."""
    env_from: list[EnvFromSource] | None = None
    """Objects whose keys become environment variables."""
    image: str | None = None
    """Image of the container."""
    image_pull_policy: str | None = None
    """Pull policy: `Always`, `IfNotPresent` or `Never`."""
    lifecycle: Lifecycle | None = None
    """Lifecycle hooks."""
    liveness_probe: Probe | None = None
    """Liveness probe."""
    ports: list[ContainerPort] | None = None
    """The ports that the container listens on."""
    readiness_probe: Probe | None = None
    """Readiness probe."""
    resize_policy: list[ContainerResizePolicy] | None = None
    """Whether the container is restarted when a resource changes."""
    resources: ResourceRequirements | None = None
    """Resource requests and limits."""
    restart_policy: str | None = None
    """Restart policy of this container; overrides the pod's."""
    restart_policy_rules: list[ContainerRestartRule] | None = None
    """Rules that restart the container by exit code."""
    security_context: SecurityContext | None = None
    """Security settings of the container."""
    startup_probe: Probe | None = None
    """Startup probe."""
    stdin: bool | None = None
    """Whether standard input is kept open."""
    stdin_once: bool | None = None
    """Whether standard input is closed after the first client disconnects."""
    termination_message_path: str | None = None
    """Path of the file with the termination message."""
    termination_message_policy: str | None = None
    """`File` (default), or `FallbackToLogsOnError` to use the end of the log if there is no message."""
    tty: bool | None = None
    """Whether the container has a terminal."""
    volume_devices: list[VolumeDevice] | None = None
    """Block devices of the container."""
    volume_mounts: list[VolumeMount] | None = None
    """Volume mounts of the container."""
    working_dir: str | None = None
    """Working directory; the image's if absent."""


class EphemeralContainer(Container):
    """An ephemeral container, added to a running pod for debugging."""

    target_container_name: str | None = None
    """The container whose processes the ephemeral container can see."""

"""Structs for containers: image, environment, ports, probes and resources."""

from msgspec import field

from virtshape.api.core.podshared import (
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
    """A reference to one of the pod's resource claims."""

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
    """Key in the config map's data."""
    name: str | None = None
    """The config map's name."""
    optional: bool | None = None
    """Whether the config map or the key may be missing."""


class SecretKeySelector(Model):
    """A key in a secret."""

    key: str
    """Key in the secret's data."""
    name: str | None = None
    """Name of the secret."""
    optional: bool | None = None
    """Whether the secret or the key may be missing."""


class FileKeySelector(Model):
    """A key in a file on a volume."""

    key: str
    """Key in the file."""
    path: str
    """The file's path in the volume."""
    volume_name: str
    """The volume's name in the pod."""
    optional: bool | None = None
    """Whether the file or the key may be missing."""


class EnvVarSource(Model):
    """The source of a variable's value; exactly one field must be set."""

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
    """The source of the variable's value."""


class ConfigMapEnvSource(Model):
    """A config map whose keys become variables."""

    name: str | None = None
    """The config map's name."""
    optional: bool | None = None
    """Whether the config map may be missing."""


class SecretEnvSource(Model):
    """A secret whose keys become variables."""

    name: str | None = None
    """Name of the secret."""
    optional: bool | None = None
    """Whether the secret may be missing."""


class EnvFromSource(Model):
    """An object whose keys all become environment variables."""

    config_map_ref: ConfigMapEnvSource | None = None
    """A config map whose keys become variables."""
    prefix: str | None = None
    """Prefix of each variable name."""
    secret_ref: SecretEnvSource | None = None
    """A secret whose keys become variables."""


class SleepAction(Model):
    """A pause in a lifecycle hook."""

    seconds: int
    """Number of seconds to sleep."""


class LifecycleHandler(Model):
    """An action of a lifecycle hook; exactly one field must be set."""

    exec: ExecAction | None = None
    """Run a command in the container."""
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
    """Port of the gRPC service."""
    mode: str | None = None
    """Encryption: `Plaintext` (default), or `TLS` without verification of the certificate."""
    service: str | None = None
    """Name of the service to check."""


class Probe(Model):
    """A repeated check of a container."""

    exec: ExecAction | None = None
    """Run a command in the container."""
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
    """Number of the port in the container."""
    name: str | None = None
    """Name of the port, which services can refer to."""
    host_ip: str | None = field(default=None, name="hostIP")
    """The node's address that the port is bound to."""
    host_port: Int32 | None = None
    """The port's number on the node."""
    protocol: str | None = None
    """Protocol of the port: `TCP` (default), `UDP` or `SCTP`."""


class ContainerResizePolicy(Model):
    """Whether a container is restarted when a resource changes."""

    resource_name: str
    """Name of the resource."""
    restart_policy: str
    """Restart policy for the resource: `NotRequired` or `RestartContainer`."""


class ContainerRestartRuleOnExitCodes(Model):
    """Exit codes that a restart rule applies to."""

    operator: str
    """Operator: `In` or `NotIn`."""
    values: list[Int32] | None = None
    """The exit codes to compare with."""


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
    """Arguments of the command; the arguments in the image if absent."""
    command: list[str] | None = None
    """The command; the entrypoint of the image if absent."""
    env: list[EnvVar] | None = None
    """Environment variables of the container."""
    env_from: list[EnvFromSource] | None = None
    """Objects whose keys become environment variables."""
    image: str | None = None
    """Image of the container."""
    image_pull_policy: str | None = None
    """Pull policy: `Always`, `IfNotPresent` or `Never`."""
    lifecycle: Lifecycle | None = None
    """Lifecycle hooks of the container."""
    liveness_probe: Probe | None = None
    """Probe whose failure restarts the container."""
    ports: list[ContainerPort] | None = None
    """The ports that the container listens on."""
    readiness_probe: Probe | None = None
    """Probe that decides whether services send traffic to the container."""
    resize_policy: list[ContainerResizePolicy] | None = None
    """Whether the container is restarted when a resource changes."""
    resources: ResourceRequirements | None = None
    """Resource requests and limits."""
    restart_policy: str | None = None
    """Restart policy of this container; overrides the restart policy of the pod."""
    restart_policy_rules: list[ContainerRestartRule] | None = None
    """Rules that restart the container, depending on its exit code."""
    security_context: SecurityContext | None = None
    """Security settings of the container."""
    startup_probe: Probe | None = None
    """Probe that must succeed before the other probes start."""
    stdin: bool | None = None
    """Whether standard input is kept open."""
    stdin_once: bool | None = None
    """Whether standard input is closed after the first client disconnects."""
    termination_message_path: str | None = None
    """Path of the file with the termination message."""
    termination_message_policy: str | None = None
    """Source of the message: `File` (default), or `FallbackToLogsOnError`: the end of the log if the file is empty."""
    tty: bool | None = None
    """Whether the container has a terminal."""
    volume_devices: list[VolumeDevice] | None = None
    """Block devices of the container."""
    volume_mounts: list[VolumeMount] | None = None
    """Volume mounts of the container."""
    working_dir: str | None = None
    """Working directory; the working directory of the image if absent."""


class EphemeralContainer(Container):
    """An ephemeral container, added to a running pod for debugging."""

    target_container_name: str | None = None
    """The container whose processes the ephemeral container can see."""

"""Structs of apps/v1: Deployments."""

from virtshape.api.core.podspec import PodTemplateSpec
from virtshape.api.meta import NO_METADATA, KubernetesObject, LabelSelector, Metadata
from virtshape.api.model import Int32, IntOrString, Model, Time


class RollingUpdateDeployment(Model):
    """Settings for rolling updates."""

    max_surge: IntOrString | None = None
    """Maximum number of additional pods, as a number or a percentage."""
    max_unavailable: IntOrString | None = None
    """Maximum number of unavailable pods, as a number or a percentage."""


class DeploymentStrategy(Model):
    """How old pods are replaced."""

    type: str | None = None
    """Strategy: `Recreate` replaces all pods at the same time, `RollingUpdate` (default) replaces a few at a time."""
    rolling_update: RollingUpdateDeployment | None = None
    """Settings for the strategy `RollingUpdate`."""


class DeploymentSpec(Model):
    """Desired state of a deployment."""

    selector: LabelSelector
    """Selects the deployment's pods by label."""
    template: PodTemplateSpec
    """Template for the deployment's pods."""
    min_ready_seconds: Int32 | None = None
    """Seconds that a pod must be ready to count as available."""
    paused: bool | None = None
    """Whether updates are paused."""
    progress_deadline_seconds: Int32 | None = None
    """Seconds without progress after which an update has failed; 600 if absent."""
    replicas: Int32 | None = None
    """Number of pods; 1 if absent."""
    revision_history_limit: Int32 | None = None
    """Number of old ReplicaSets to keep; 10 if absent."""
    strategy: DeploymentStrategy | None = None
    """How old pods are replaced."""


class DeploymentCondition(Model):
    """A condition of a deployment."""

    type: str | None = None
    """Type of the condition."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    last_update_time: Time | None = None
    """When the condition was last updated."""
    message: str | None = None
    """Human-readable details of the condition."""
    reason: str | None = None
    """Reason for the status, in CamelCase."""
    status: str | None = None
    """Status of the condition: `True`, `False` or `Unknown`."""


class DeploymentStatus(Model):
    """Observed state of a deployment."""

    available_replicas: Int32 | None = None
    """Number of available pods."""
    collision_count: Int32 | None = None
    """Number of hash collisions in generated names."""
    conditions: list[DeploymentCondition] | None = None
    """Current conditions of the deployment."""
    observed_generation: int | None = None
    """The generation that this status refers to."""
    ready_replicas: Int32 | None = None
    """Number of ready pods."""
    replicas: Int32 | None = None
    """Number of pods that are not terminating."""
    terminating_replicas: Int32 | None = None
    """Number of pods that are terminating."""
    unavailable_replicas: Int32 | None = None
    """Number of pods that are not available."""
    updated_replicas: Int32 | None = None
    """Number of pods with the current template."""


class Deployment(KubernetesObject, kw_only=True):
    """A set of identical pods with rolling updates."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `Deployment`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: DeploymentSpec
    """Desired state of the pods."""
    status: DeploymentStatus | None = None
    """Observed state of the deployment."""

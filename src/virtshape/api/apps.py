"""
The apps group at v1: kept revisions of state, and deployments.

A revision's data is whatever its controller put there; nothing here interprets it.
"""

from typing import Any

from virtshape.api.core.podspec import PodTemplateSpec
from virtshape.api.meta import LabelSelector, ObjectMeta
from virtshape.api.model import Int32, IntOrString, Model, Time


class ControllerRevision(Model, kw_only=True):
    """A frozen copy of some state that a controller wants to find again."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`ControllerRevision`."""
    metadata: ObjectMeta | None = None
    """The object's name, namespace, labels and the like."""
    data: Any = None
    """The state, as any JSON value; a revision stored without one is empty."""
    revision: int | None = None
    """The order of this copy among its siblings; higher is newer."""


class RollingUpdateDeployment(Model):
    """How many pods are replaced at a time."""

    max_surge: IntOrString | None = None
    """How many more than wanted there may be, as a number or a percentage."""
    max_unavailable: IntOrString | None = None
    """How many fewer than wanted there may be, as a number or a percentage."""


class DeploymentStrategy(Model):
    """How old pods are replaced."""

    type: str | None = None
    """All at once (`Recreate`) or a few at a time (`RollingUpdate`, also if absent)."""
    rolling_update: RollingUpdateDeployment | None = None
    """How many at a time, for `RollingUpdate`."""


class DeploymentSpec(Model):
    """Which pods, and how many."""

    selector: LabelSelector
    """The labels of its pods."""
    template: PodTemplateSpec
    """What its pods look like."""
    min_ready_seconds: Int32 | None = None
    """How long a pod must be ready to count as available."""
    paused: bool | None = None
    """Whether changes wait."""
    progress_deadline_seconds: Int32 | None = None
    """How long a change may stand still before it has failed; 600 if absent."""
    replicas: Int32 | None = None
    """How many pods; 1 if absent."""
    revision_history_limit: Int32 | None = None
    """How many old versions are kept; 10 if absent."""
    strategy: DeploymentStrategy | None = None
    """How old pods are replaced."""


class DeploymentCondition(Model):
    """One observed fact about a deployment."""

    type: str | None = None
    """Which fact."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    last_update_time: Time | None = None
    """When it was last looked at."""
    message: str | None = None
    """The details, for people."""
    reason: str | None = None
    """The cause, as one word."""
    status: str | None = None
    """Whether it holds: `True`, `False` or `Unknown`."""


class DeploymentStatus(Model):
    """How many pods there are."""

    available_replicas: Int32 | None = None
    """Those that have been ready long enough."""
    collision_count: Int32 | None = None
    """How often a generated name was taken."""
    conditions: list[DeploymentCondition] | None = None
    """The observed facts."""
    observed_generation: int | None = None
    """The generation that this status is about."""
    ready_replicas: Int32 | None = None
    """Those that are ready."""
    replicas: Int32 | None = None
    """All that are not ending."""
    terminating_replicas: Int32 | None = None
    """Those that are ending."""
    unavailable_replicas: Int32 | None = None
    """Those that are still missing."""
    updated_replicas: Int32 | None = None
    """Those that look as wanted."""


class Deployment(Model, kw_only=True):
    """A number of like pods, replaced a few at a time when they change."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`Deployment`."""
    metadata: ObjectMeta | None = None
    """The object's name, namespace, labels and the like."""
    spec: DeploymentSpec
    """The pods, as wanted."""
    status: DeploymentStatus | None = None
    """The pods, as observed."""

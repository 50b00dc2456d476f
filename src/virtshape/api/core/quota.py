"""Structs for resource quotas: limits on the resources of a namespace."""

from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Model
from virtshape.api.quantity import Quantity


class ScopedResourceSelectorRequirement(Model):
    """One condition on the objects that a quota counts."""

    scope_name: str
    """The scope, such as `PriorityClass`."""
    operator: str
    """Operator: `In`, `NotIn`, `Exists` or `DoesNotExist`."""
    values: list[str] | None = None
    """The values, if the operator takes any."""


class ScopeSelector(Model):
    """Conditions on the objects that a quota counts."""

    match_expressions: list[ScopedResourceSelectorRequirement] | None = None
    """The conditions; all must match."""


class ResourceQuotaSpec(Model):
    """The limits of a quota."""

    hard: dict[str, Quantity] | None = None
    """Limits by resource name, such as `requests.storage`."""
    scopes: list[str] | None = None
    """The scopes of the objects that are counted; quotas with scopes do not count claims."""
    scope_selector: ScopeSelector | None = None
    """Conditions on the objects that are counted; quotas with conditions do not count claims."""


class ResourceQuotaStatus(Model):
    """The enforced limits and their usage."""

    hard: dict[str, Quantity] | None = None
    """Enforced limits, by resource name."""
    used: dict[str, Quantity] | None = None
    """Current usage, by resource name."""


class ResourceQuota(KubernetesObject, kw_only=True):
    """Limits on the resources of a namespace."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """The kind of this object: `ResourceQuota`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: ResourceQuotaSpec | None = None
    """The limits of the quota."""
    status: ResourceQuotaStatus | None = None
    """Current usage of the limits."""

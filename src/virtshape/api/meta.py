from typing import Any

from msgspec import field

from virtshape.api.model import Model, Time


class Condition(Model):
    type: str
    last_transition_time: Time
    message: str
    reason: str
    status: str
    last_probe_time: Time | None = None
    observed_generation: int | None = None


class LabelSelectorRequirement(Model):
    key: str
    operator: str
    values: list[str] | None = None


class LabelSelector(Model):
    match_expressions: list[LabelSelectorRequirement] | None = None
    match_labels: dict[str, str] | None = None


class ListMeta(Model):
    continue_: str | None = field(default=None, name="continue")
    remaining_item_count: int | None = None
    resource_version: str | None = None
    self_link: str | None = None


class ManagedFieldsEntry(Model):
    api_version: str | None = None
    fields_type: str | None = None
    fields_v1: dict[str, Any] | None = None
    manager: str | None = None
    operation: str | None = None
    subresource: str | None = None
    time: Time | None = None


class OwnerReference(Model):
    name: str
    api_version: str
    kind: str
    uid: str
    block_owner_deletion: bool | None = None
    controller: bool | None = None


class ObjectMeta(Model):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None
    finalizers: list[str] | None = None
    managed_fields: list[ManagedFieldsEntry] | None = None
    self_link: str | None = None

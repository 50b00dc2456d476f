"""
The apiextensions.k8s.io group at v1: definitions of further kinds.

Schemas below the first level stay plain JSON; nothing here checks an object against one.
"""

from typing import Any

from msgspec import field

from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Int32, Model, Time


class CustomResourceDefinitionNames(Model):
    """What a kind is called."""

    kind: str
    """Its name in objects."""
    plural: str
    """Its name in paths."""
    categories: list[str] | None = None
    """The groups of resources that list it too, such as `all`."""
    list_kind: str | None = None
    """The name of its lists; the kind and `List` if absent."""
    short_names: list[str] | None = None
    """Its abbreviations."""
    singular: str | None = None
    """Its name for one object; the kind in lower case if absent."""


class CustomResourceColumnDefinition(Model):
    """A column of a table."""

    name: str
    """Its heading."""
    type: str
    """The type of its values."""
    json_path: str
    """Where its value stands in the object."""
    description: str | None = None
    """What it shows, for people."""
    format: str | None = None
    """How its values look, such as `date-time`."""
    priority: Int32 | None = None
    """0 for every table; higher for wide tables only."""


class SelectableField(Model):
    """A field that lists can be narrowed down by."""

    json_path: str
    """Where it stands in the object."""


class CustomResourceSubresourceStatus(Model):
    """The status, written apart from the spec; nothing to choose."""


class CustomResourceSubresourceScale(Model):
    """Where a kind keeps its number of replicas."""

    spec_replicas_path: str
    """Where the wanted number stands."""
    status_replicas_path: str
    """Where the observed number stands."""
    label_selector_path: str | None = None
    """Where the selector of its pods stands."""


class CustomResourceSubresources(Model):
    """The subresources of a kind."""

    scale: CustomResourceSubresourceScale | None = None
    """The number of replicas, written apart from the spec."""
    status: CustomResourceSubresourceStatus | None = None
    """The status, written apart from the spec."""


class ExternalDocumentation(Model):
    """Where to read more."""

    description: str | None = None
    """What is to be found there."""
    url: str | None = None
    """The address."""


class ValidationRule(Model):
    """A rule, in CEL, that a value must obey."""

    rule: str
    """The rule."""
    field_path: str | None = None
    """The field to blame."""
    message: str | None = None
    """What to say if it is broken."""
    message_expression: str | None = None
    """What to say if it is broken, as a CEL expression."""
    optional_old_self: bool | None = None
    """Whether the rule also holds where there is no old value."""
    reason: str | None = None
    """The kind of error to report."""


class JSONSchemaProps(Model):
    """A JSON schema, as structural as the API server wants it."""

    type: str | None = None
    """The type of the value."""
    ref: str | None = field(default=None, name="$ref")
    """Another schema to use; not allowed here."""
    schema: str | None = field(default=None, name="$schema")
    """The dialect of the schema."""
    additional_items: Any = None
    """The schema of items beyond those listed."""
    additional_properties: Any = None
    """The schema of properties that are not named."""
    all_of: list[dict[str, Any]] | None = None
    """Schemas that must all fit."""
    any_of: list[dict[str, Any]] | None = None
    """Schemas of which one must fit."""
    default: Any | None = None
    """The value where there is none."""
    definitions: dict[str, Any] | None = None
    """Schemas to refer to; not allowed here."""
    dependencies: dict[str, Any] | None = None
    """What properties ask of each other; not allowed here."""
    description: str | None = None
    """What the value means, for people."""
    enum: list[Any] | None = None
    """The only values that are allowed."""
    example: Any | None = None
    """A value, to show what is meant."""
    exclusive_maximum: bool | None = None
    """Whether the maximum itself is too much."""
    exclusive_minimum: bool | None = None
    """Whether the minimum itself is too little."""
    external_docs: ExternalDocumentation | None = None
    """Where to read more."""
    format: str | None = None
    """What a text or number looks like, such as `int64`."""
    id: str | None = None
    """The identifier of the schema."""
    items: Any = None
    """The schema of a list's items."""
    max_items: int | None = None
    """The most items of a list."""
    max_length: int | None = None
    """The most characters of a text."""
    max_properties: int | None = None
    """The most properties of an object."""
    maximum: float | None = None
    """The greatest number."""
    min_items: int | None = None
    """The fewest items of a list."""
    min_length: int | None = None
    """The fewest characters of a text."""
    min_properties: int | None = None
    """The fewest properties of an object."""
    minimum: float | None = None
    """The least number."""
    multiple_of: float | None = None
    """What a number must be a multiple of."""
    not_: dict[str, Any] | None = None
    """A schema that must not fit."""
    nullable: bool | None = None
    """Whether `null` is a value."""
    one_of: list[dict[str, Any]] | None = None
    """Schemas of which exactly one must fit."""
    pattern: str | None = None
    """The regular expression that a text must match."""
    pattern_properties: dict[str, Any] | None = None
    """The schemas of properties by the pattern of their names; not allowed here."""
    properties: dict[str, Any] | None = None
    """The schemas of the properties."""
    required: list[str] | None = None
    """The properties that must be there."""
    title: str | None = None
    """The name of the schema, for people."""
    unique_items: bool | None = None
    """Whether a list's items must differ; not allowed here."""
    x_kubernetes_embedded_resource: bool | None = field(default=None, name="x-kubernetes-embedded-resource")
    """Whether the value is a whole object of its own."""
    x_kubernetes_int_or_string: bool | None = field(default=None, name="x-kubernetes-int-or-string")
    """Whether the value is a number or a text."""
    x_kubernetes_list_map_keys: list[str] | None = field(default=None, name="x-kubernetes-list-map-keys")
    """The fields that tell items of a `map` list apart."""
    x_kubernetes_list_type: str | None = field(default=None, name="x-kubernetes-list-type")
    """How lists are merged: `atomic`, `set` or `map`."""
    x_kubernetes_map_type: str | None = field(default=None, name="x-kubernetes-map-type")
    """How objects are merged: `granular` or `atomic`."""
    x_kubernetes_preserve_unknown_fields: bool | None = field(default=None, name="x-kubernetes-preserve-unknown-fields")
    """Whether fields that the schema does not name are kept."""
    x_kubernetes_validations: list[ValidationRule] | None = field(default=None, name="x-kubernetes-validations")
    """The rules, in CEL, that the value must obey."""


class CustomResourceValidation(Model):
    """What objects must look like."""

    open_api_v3_schema: JSONSchemaProps | None = field(default=None, name="openAPIV3Schema")
    """The schema."""


class CustomResourceDefinitionVersion(Model):
    """One version of a kind."""

    name: str
    """The version's name."""
    served: bool
    """Whether it is served."""
    storage: bool
    """Whether objects are stored in it; so in exactly one version."""
    additional_printer_columns: list[CustomResourceColumnDefinition] | None = None
    """The columns of its tables, besides the name."""
    deprecated: bool | None = None
    """Whether clients that use it are warned."""
    deprecation_warning: str | None = None
    """The words of that warning."""
    schema: CustomResourceValidation | None = None
    """What its objects must look like."""
    selectable_fields: list[SelectableField] | None = None
    """The fields that lists can be narrowed down by."""
    subresources: CustomResourceSubresources | None = None
    """Its status and its scale."""


class ServiceReference(Model):
    """A service in front of a webhook."""

    name: str
    """The service's name."""
    namespace: str
    """The service's namespace."""
    path: str | None = None
    """The path to call."""
    port: Int32 | None = None
    """The port to call; 443 if absent."""


class WebhookClientConfig(Model):
    """Where a webhook is; either an address or a service."""

    ca_bundle: str | None = None
    """The certificate authorities to trust, as PEM in base64."""
    service: ServiceReference | None = None
    """The service in front of it."""
    url: str | None = None
    """Its address."""


class WebhookConversion(Model):
    """A webhook that converts objects."""

    conversion_review_versions: list[str]
    """The versions of the protocol that it understands, best first."""
    client_config: WebhookClientConfig | None = None
    """Where it is."""


class CustomResourceConversion(Model):
    """How objects get from one version to another."""

    strategy: str
    """`None` (only the version changes) or `Webhook`."""
    webhook: WebhookConversion | None = None
    """Who converts them."""


class CustomResourceDefinitionSpec(Model):
    """The kind that is wanted."""

    group: str
    """The API group."""
    names: CustomResourceDefinitionNames
    """What the kind is called."""
    scope: str
    """`Cluster` or `Namespaced`."""
    versions: list[CustomResourceDefinitionVersion]
    """The versions of the kind."""
    conversion: CustomResourceConversion | None = None
    """How objects get from one version to another."""
    preserve_unknown_fields: bool | None = None
    """Keeps fields that no schema names; no longer allowed."""


class CustomResourceDefinitionCondition(Model):
    """One observed fact about a definition."""

    type: str
    """Which fact."""
    status: str
    """Whether it holds: `True`, `False` or `Unknown`."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    message: str | None = None
    """The details, for people."""
    observed_generation: int | None = None
    """The generation of the object that the fact is about."""
    reason: str | None = None
    """The cause, as one word."""


class CustomResourceDefinitionStatus(Model):
    """The kind that is served."""

    accepted_names: CustomResourceDefinitionNames | None = None
    """The names that were free."""
    conditions: list[CustomResourceDefinitionCondition] | None = None
    """The observed facts."""
    observed_generation: int | None = None
    """The generation that this status is about."""
    stored_versions: list[str] | None = None
    """The versions that objects were ever stored in."""


class CustomResourceDefinition(Model, kw_only=True):
    """Defines a kind that the API server did not have."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`CustomResourceDefinition`."""
    metadata: ObjectMeta | None = None
    """The object's name, labels and the like."""
    spec: CustomResourceDefinitionSpec
    """The kind, as wanted."""
    status: CustomResourceDefinitionStatus | None = None
    """The kind, as served."""

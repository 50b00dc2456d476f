"""
Structs of apiextensions.k8s.io/v1: CustomResourceDefinitions.

Nested schemas are plain JSON objects.
"""

from typing import Any

from msgspec import field

from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Int32, Model, Time


class CustomResourceDefinitionNames(Model):
    """The names of a kind."""

    kind: str
    """The value of `kind` in objects."""
    plural: str
    """The plural name, as in URLs."""
    categories: list[str] | None = None
    """Categories that the kind belongs to, such as `all`."""
    list_kind: str | None = None
    """Kind of lists; the kind followed by `List` if absent."""
    short_names: list[str] | None = None
    """Short names for `kubectl`."""
    singular: str | None = None
    """The singular name; the kind in lower case if absent."""


class CustomResourceColumnDefinition(Model):
    """A column in tables of objects."""

    name: str
    """Heading of the column."""
    type: str
    """The type of the values."""
    json_path: str
    """JSON path of the value in the object."""
    description: str | None = None
    """Human-readable description of the column."""
    format: str | None = None
    """Format of the values, such as `date-time`."""
    priority: Int32 | None = None
    """Columns with priority 0 are always shown, others only in wide tables."""


class SelectableField(Model):
    """A field that field selectors can use."""

    json_path: str
    """JSON path of the field."""


class CustomResourceSubresourceStatus(Model):
    """The status subresource, which has no settings."""


class CustomResourceSubresourceScale(Model):
    """JSON paths of the scale subresource."""

    spec_replicas_path: str
    """JSON path of the desired number of replicas."""
    status_replicas_path: str
    """JSON path of the observed number of replicas."""
    label_selector_path: str | None = None
    """JSON path of the pod selector."""


class CustomResourceSubresources(Model):
    """The subresources of a kind."""

    scale: CustomResourceSubresourceScale | None = None
    """Settings of the scale subresource, if the kind has one."""
    status: CustomResourceSubresourceStatus | None = None
    """Present if the kind has a status subresource."""


class ExternalDocumentation(Model):
    """External documentation."""

    description: str | None = None
    """Description of the documentation."""
    url: str | None = None
    """URL of the documentation."""


class ValidationRule(Model):
    """A validation rule in CEL."""

    rule: str
    """CEL expression that must be true."""
    field_path: str | None = None
    """Path of the field in the reported error."""
    message: str | None = None
    """Error message if the rule is violated."""
    message_expression: str | None = None
    """CEL expression that returns the error message."""
    optional_old_self: bool | None = None
    """Whether a transition rule also applies if the old value is absent."""
    reason: str | None = None
    """Reason in the reported error."""


class JSONSchemaProps(Model):
    """A structural JSON schema."""

    type: str | None = None
    """The type of the value."""
    ref: str | None = field(default=None, name="$ref")
    """Reference to another schema; not allowed in a structural schema."""
    schema: str | None = field(default=None, name="$schema")
    """The dialect of the schema."""
    additional_items: Any = None
    """Schema of additional items."""
    additional_properties: Any = None
    """Schema of additional properties."""
    all_of: list[dict[str, Any]] | None = None
    """Schemas that must all match."""
    any_of: list[dict[str, Any]] | None = None
    """Schemas of which at least one must match."""
    default: Any | None = None
    """Value that the API server sets if the field is absent."""
    definitions: dict[str, Any] | None = None
    """Schema definitions; not allowed in a structural schema."""
    dependencies: dict[str, Any] | None = None
    """Dependencies between properties; not allowed in a structural schema."""
    description: str | None = None
    """Description of the value."""
    enum: list[Any] | None = None
    """The values that are allowed."""
    example: Any | None = None
    """An example of a valid value."""
    exclusive_maximum: bool | None = None
    """Whether the maximum is exclusive."""
    exclusive_minimum: bool | None = None
    """Whether the minimum is exclusive."""
    external_docs: ExternalDocumentation | None = None
    """External documentation of the value."""
    format: str | None = None
    """Format of a string or number, such as `int64`."""
    id: str | None = None
    """The identifier of the schema."""
    items: Any = None
    """The schema of a list's items."""
    max_items: int | None = None
    """Maximum number of items."""
    max_length: int | None = None
    """Maximum length of a string."""
    max_properties: int | None = None
    """Maximum number of properties."""
    maximum: float | None = None
    """Maximum value of a number."""
    min_items: int | None = None
    """Minimum number of items."""
    min_length: int | None = None
    """Minimum length of a string."""
    min_properties: int | None = None
    """Minimum number of properties."""
    minimum: float | None = None
    """Minimum value of a number."""
    multiple_of: float | None = None
    """A number must be a multiple of this value."""
    not_: dict[str, Any] | None = None
    """A schema that must not match."""
    nullable: bool | None = None
    """Whether `null` is allowed."""
    one_of: list[dict[str, Any]] | None = None
    """Schemas of which exactly one must match."""
    pattern: str | None = None
    """Regular expression that a string must match."""
    pattern_properties: dict[str, Any] | None = None
    """Schemas of properties by name pattern; not allowed in a structural schema."""
    properties: dict[str, Any] | None = None
    """The schemas of the properties."""
    required: list[str] | None = None
    """Names of the properties that an object must have."""
    title: str | None = None
    """Title of the schema."""
    unique_items: bool | None = None
    """Whether items must be unique; true is not allowed in a structural schema."""
    x_kubernetes_embedded_resource: bool | None = field(default=None, name="x-kubernetes-embedded-resource")
    """Whether the value is a complete Kubernetes object."""
    x_kubernetes_int_or_string: bool | None = field(default=None, name="x-kubernetes-int-or-string")
    """Whether the value is an integer or a string."""
    x_kubernetes_list_map_keys: list[str] | None = field(default=None, name="x-kubernetes-list-map-keys")
    """The key fields of a list of type `map`."""
    x_kubernetes_list_type: str | None = field(default=None, name="x-kubernetes-list-type")
    """How lists are merged: `atomic`, `set` or `map`."""
    x_kubernetes_map_type: str | None = field(default=None, name="x-kubernetes-map-type")
    """How objects are merged: `granular` or `atomic`."""
    x_kubernetes_preserve_unknown_fields: bool | None = field(default=None, name="x-kubernetes-preserve-unknown-fields")
    """Whether fields that the schema does not list are kept."""
    x_kubernetes_validations: list[ValidationRule] | None = field(default=None, name="x-kubernetes-validations")
    """Validation rules in CEL."""


class CustomResourceValidation(Model):
    """Validation of objects."""

    open_api_v3_schema: JSONSchemaProps | None = field(default=None, name="openAPIV3Schema")
    """The OpenAPI v3 schema that objects must match."""


class CustomResourceDefinitionVersion(Model):
    """One version of a kind."""

    name: str
    """Name of the version, such as `v1beta1`."""
    served: bool
    """Whether this version is served."""
    storage: bool
    """Whether objects are stored in this version; true for exactly one version."""
    additional_printer_columns: list[CustomResourceColumnDefinition] | None = None
    """Columns of tables in this version, in addition to the name."""
    deprecated: bool | None = None
    """Whether the version is deprecated; clients that use it get a warning."""
    deprecation_warning: str | None = None
    """Text of the deprecation warning."""
    schema: CustomResourceValidation | None = None
    """Schema of objects in this version."""
    selectable_fields: list[SelectableField] | None = None
    """The fields that field selectors can use."""
    subresources: CustomResourceSubresources | None = None
    """Subresources of this version."""


class ServiceReference(Model):
    """A reference to the Service of a webhook."""

    name: str
    """Name of the Service."""
    namespace: str
    """Namespace of the Service."""
    path: str | None = None
    """The path in the URL of requests."""
    port: Int32 | None = None
    """The service's port; 443 if absent."""


class WebhookClientConfig(Model):
    """How to connect to a webhook; exactly one of `url` and `service` must be set."""

    ca_bundle: str | None = None
    """The certificate authorities to trust, as PEM in base64."""
    service: ServiceReference | None = None
    """The service of the webhook."""
    url: str | None = None
    """URL of the webhook."""


class WebhookConversion(Model):
    """A webhook that converts objects."""

    conversion_review_versions: list[str]
    """Versions of ConversionReview that the webhook accepts, in order of preference."""
    client_config: WebhookClientConfig | None = None
    """How to connect to the webhook."""


class CustomResourceConversion(Model):
    """How objects are converted between versions."""

    strategy: str
    """Conversion strategy: `None` (only the version changes) or `Webhook`."""
    webhook: WebhookConversion | None = None
    """The webhook that converts objects."""


class CustomResourceDefinitionSpec(Model):
    """Desired state of a definition."""

    group: str
    """The API group that the kind belongs to."""
    names: CustomResourceDefinitionNames
    """Names of the kind."""
    scope: str
    """Scope of the objects: `Cluster` or `Namespaced`."""
    versions: list[CustomResourceDefinitionVersion]
    """The versions of the kind."""
    conversion: CustomResourceConversion | None = None
    """How objects are converted between versions."""
    preserve_unknown_fields: bool | None = None
    """Deprecated: true is no longer allowed; use `x-kubernetes-preserve-unknown-fields` in the schema."""


class CustomResourceDefinitionCondition(Model):
    """A condition of a definition."""

    type: str
    """Type of the condition."""
    status: str
    """Status of the condition: `True`, `False` or `Unknown`."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    message: str | None = None
    """Human-readable details of the condition."""
    observed_generation: int | None = None
    """The generation that the condition refers to."""
    reason: str | None = None
    """Reason for the status, in CamelCase."""


class CustomResourceDefinitionStatus(Model):
    """Observed state of a definition."""

    accepted_names: CustomResourceDefinitionNames | None = None
    """The names that the API server has accepted for the kind."""
    conditions: list[CustomResourceDefinitionCondition] | None = None
    """Current conditions of the definition."""
    observed_generation: int | None = None
    """The generation that this status refers to."""
    stored_versions: list[str] | None = None
    """The versions that objects have been stored in."""


class CustomResourceDefinition(KubernetesObject, kw_only=True):
    """Defines a custom resource."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `CustomResourceDefinition`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: CustomResourceDefinitionSpec
    """Desired state of the definition."""
    status: CustomResourceDefinitionStatus | None = None
    """Observed state of the definition."""

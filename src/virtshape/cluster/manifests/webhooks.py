"""
Webhook configurations: the writes for which the API server calls our webhook.

Match conditions only skip requests that the webhook would allow unchanged.
"""

from typing import Final

from virtshape.admission.accounts import get_trusted_users
from virtshape.api.model import JsonObject
from virtshape.api.wellknown import (
    DEPRECATED_LABEL,
    LIFECYCLE_LABEL,
    OBJECT_NAME_LABEL,
    RECAPTURE_ANNOTATION,
    REPLACEMENT_ANNOTATION,
)
from virtshape.cluster.manifests.certificates import annotate_ca_injection
from virtshape.cluster.manifests.naming import MUTATE_PATH, SYSTEM, VALIDATE_PATH, begin, name_component
from virtshape.cluster.manifests.options import Options

IGNORE_LABEL: Final = "virtshape.io/admission"
"""Label that exempts a namespace from the webhooks if its value is `ignore`, for repairs while they do not work."""

TIMEOUT_SECONDS: Final = 10
WARNING_SECONDS: Final = 2
"""Timeout of a webhook that only warns."""
_REGISTRATION: Final = "admissionregistration.k8s.io/v1"

_VM_MUTATOR: Final = "virtualmachines-mutator.kubevirt.io"
_VMI_MUTATOR: Final = "virtualmachineinstances-mutator.kubevirt.io"
_VM_VALIDATOR: Final = "virtualmachine-validator.kubevirt.io"
"""These three webhooks have KubeVirt's names, because clients see them in messages about rejected requests."""

_CHANGED: Final = {
    "name": "spec-changed",
    "expression": (
        "request.operation == 'CREATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"
    ),
}
_RECAPTURE: Final = f"metadata.?annotations[?'{RECAPTURE_ANNOTATION}']"
_VM_CHANGED: Final = {
    "name": "spec-changed-or-recapture-requested",
    "expression": (
        f"{_CHANGED['expression']} || object.{_RECAPTURE}.hasValue() && object.{_RECAPTURE} != oldObject.{_RECAPTURE}"
    ),
}
"""The removal of the annotation is not checked, so that the controller can remove it while no webhook is running."""
_RELABELLED: Final = {
    "name": "spec-or-labels-changed",
    "expression": (
        f"{_CHANGED['expression']} || object.metadata.?labels.orValue({{}}) != oldObject.metadata.?labels.orValue({{}})"
    ),
}
"""Label changes are checked too, because only the controllers may set some labels of a VMI."""
_LIFECYCLE_CHANGED: Final = {
    "name": "spec-or-lifecycle-changed",
    "expression": " || ".join(
        [
            _CHANGED["expression"],
            *(
                f"object.metadata.?{map_name}[?'{key}'] != oldObject.metadata.?{map_name}[?'{key}']"
                for map_name, key in (
                    ("labels", LIFECYCLE_LABEL),
                    ("labels", DEPRECATED_LABEL),
                    ("annotations", REPLACEMENT_ANNOTATION),
                )
            ),
        ]
    ),
}
"""The webhook checks only these labels and annotations, so others can be changed while the webhook is not running."""
_STATUS_CHANGED: Final = {
    "name": "status-changed",
    "expression": "object.?status.orValue({}) != oldObject.?status.orValue({})",
}
_BY_USERS: Final = {
    "name": "not-by-the-cluster",
    "expression": "!request.userInfo.username.startsWith('system:serviceaccount:kube-system:')",
}
"""Excludes the garbage collector and the namespace controller, which need no warnings."""
_NOT_DELETING: Final = {"name": "not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)"}


def build_webhooks(options: Options) -> list[JsonObject]:
    """Return the mutating and the validating webhook configuration."""
    return [
        _build_configuration("MutatingWebhookConfiguration", _list_mutating(options), options),
        _build_configuration("ValidatingWebhookConfiguration", _list_validating(options), options),
    ]


def _list_mutating(options: Options) -> list[JsonObject]:
    reinvoked = {"reinvocationPolicy": "IfNeeded"}
    return [
        _build_webhook(
            _VM_MUTATOR, MUTATE_PATH, _rule("kubevirt.io", "virtualmachines"), options, _CHANGED, _NOT_DELETING
        )
        | reinvoked,
        _build_webhook(_VMI_MUTATOR, MUTATE_PATH, _rule("kubevirt.io", "virtualmachineinstances", "CREATE"), options)
        | reinvoked,
        _build_webhook(
            "vmi.status.virtshape.io",
            MUTATE_PATH,
            _rule("kubevirt.io", "virtualmachineinstances", "UPDATE"),
            options,
            _STATUS_CHANGED,
            _by_others(options.namespace),
        )
        | reinvoked,
    ]


def _by_others(namespace: str) -> JsonObject:
    """Return a match condition that is true unless a component's service account sent the request."""
    accounts = ", ".join(f"'{account}'" for account in sorted(get_trusted_users(namespace).names))
    return {"name": "not-by-the-system", "expression": f"!(request.userInfo.username in [{accounts}])"}


def _list_validating(options: Options) -> list[JsonObject]:
    checks = [
        (_VM_VALIDATOR, _rule("kubevirt.io", "virtualmachines"), (_VM_CHANGED, _NOT_DELETING)),
        ("vmi.validate.virtshape.io", _rule("kubevirt.io", "virtualmachineinstances"), (_RELABELLED,)),
        ("configuration.validate.virtshape.io", _rule("kubevirt.io", "kubevirts"), (_CHANGED,)),
        ("instancetype.validate.virtshape.io", _rule("instancetype.kubevirt.io"), (_LIFECYCLE_CHANGED,)),
        ("flavor.validate.virtshape.io", _rule("flavor.kubevirt.io"), (_LIFECYCLE_CHANGED,)),
    ]
    # CDI allows a DataSource to point to any namespace, even after a VM that clones from it was admitted.
    disks = ("disk.validate.virtshape.io", "*") if options.cdi else ("source.validate.virtshape.io", "datasources")
    checks.append((disks[0], _rule("cdi.kubevirt.io", disks[1]), (_CHANGED,)))
    webhooks = [_build_webhook(name, VALIDATE_PATH, rule, options, *conditions) for name, rule, conditions in checks]
    return [*webhooks, _build_revision_webhook(options)]


def _build_revision_webhook(options: Options) -> JsonObject:
    """Return the webhook that warns about the deletion of revisions but never prevents a deletion."""
    rule = _rule("apps", "controllerrevisions", "DELETE")
    webhook = _build_webhook(
        "revision.delete.virtshape.io", VALIDATE_PATH, rule, options, _by_others(options.namespace), _BY_USERS
    )
    selector = {"matchExpressions": [{"key": OBJECT_NAME_LABEL, "operator": "Exists"}]}
    return webhook | {"objectSelector": selector, "failurePolicy": "Ignore", "timeoutSeconds": WARNING_SECONDS}


def _build_configuration(kind: str, webhooks: list[JsonObject], options: Options) -> JsonObject:
    tree = begin(_REGISTRATION, kind, SYSTEM, component="webhook")
    tree["metadata"] |= annotate_ca_injection("webhook", options)
    return tree | {"webhooks": webhooks}


def _build_webhook(name: str, path: str, rule: JsonObject, options: Options, *conditions: JsonObject) -> JsonObject:
    service = {"namespace": options.namespace, "name": name_component("webhook"), "path": path, "port": 443}
    webhook: JsonObject = {
        "name": name,
        "clientConfig": {"service": service},
        "rules": [rule],
        "matchPolicy": "Equivalent",
        "namespaceSelector": {"matchExpressions": [{"key": IGNORE_LABEL, "operator": "NotIn", "values": ["ignore"]}]},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_SECONDS,
        "admissionReviewVersions": ["v1"],
    }
    return webhook | ({"matchConditions": list(conditions)} if conditions else {})


def _rule(group: str, resource: str = "*", *operations: str) -> JsonObject:
    """Return a rule for all versions of a resource, so that objects arrive in the version they were written in."""
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": list(operations) or ["CREATE", "UPDATE"],
        "resources": [resource],
        "scope": "*",
    }

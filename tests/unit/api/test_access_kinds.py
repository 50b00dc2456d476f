"""RBAC objects and CustomResourceDefinitions survive a round trip unchanged."""

from typing import Any

import pytest

from virtshape.api import apiextensions, authentication, authorization, codec, rbac
from virtshape.api.model import Model

CONDITION: dict[str, Any] = {
    "type": "Ready",
    "status": "True",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "reason": "AllWell",
    "message": "nothing to complain about",
}

RULE: dict[str, Any] = {"apiGroups": ["kubevirt.io"], "resources": ["virtualmachines"], "verbs": ["get", "list"]}

ROLE_REF: dict[str, Any] = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}

SUBJECTS: list[dict[str, Any]] = [
    {"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"},
    {"kind": "ServiceAccount", "name": "launcher", "namespace": "prod"},
]

USER: dict[str, Any] = {"username": "alice", "groups": ["admins"], "uid": "u-1", "extra": {"scopes": ["all"]}}

ACCESS: dict[str, Any] = {
    "resourceAttributes": {
        "group": "kubevirt.io",
        "resource": "virtualmachines",
        "verb": "list",
        "namespace": "prod",
        "labelSelector": {"requirements": [{"key": "app", "operator": "In", "values": ["db"]}]},
        "fieldSelector": {"requirements": [{"key": "metadata.name", "operator": "In", "values": ["vm"]}]},
    }
}

DECISION: dict[str, Any] = {"allowed": False, "denied": True, "reason": "no rule permits it"}

CASES: list[tuple[type[Model], str, dict[str, Any]]] = [
    (rbac.Role, "rbac.authorization.k8s.io/v1", {"rules": [RULE | {"resourceNames": ["vm"]}]}),
    (rbac.RoleBinding, "rbac.authorization.k8s.io/v1", {"roleRef": ROLE_REF, "subjects": SUBJECTS}),
    (
        rbac.ClusterRole,
        "rbac.authorization.k8s.io/v1",
        {
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"aggregate-to-view": "true"}}]},
            "rules": [RULE, {"nonResourceURLs": ["/healthz"], "verbs": ["get"]}],
        },
    ),
    (rbac.ClusterRoleBinding, "rbac.authorization.k8s.io/v1", {"roleRef": ROLE_REF, "subjects": SUBJECTS}),
    (
        authentication.TokenReview,
        "authentication.k8s.io/v1",
        {
            "spec": {"token": "not-a-real-token", "audiences": ["api"]},
            "status": {"authenticated": True, "audiences": ["api"], "user": USER},
        },
    ),
    (authentication.SelfSubjectReview, "authentication.k8s.io/v1", {"status": {"userInfo": USER}}),
    (authorization.SelfSubjectAccessReview, "authorization.k8s.io/v1", {"spec": ACCESS, "status": DECISION}),
    (
        authorization.SubjectAccessReview,
        "authorization.k8s.io/v1",
        {
            "spec": {
                "nonResourceAttributes": {"path": "/healthz", "verb": "get"},
                "user": "alice",
                "groups": ["admins"],
                "extra": {"scopes": ["all"]},
            },
            "status": DECISION,
        },
    ),
    (
        authorization.LocalSubjectAccessReview,
        "authorization.k8s.io/v1",
        {"spec": ACCESS | {"user": "alice", "uid": "u-1"}, "status": DECISION},
    ),
    (
        authorization.SelfSubjectRulesReview,
        "authorization.k8s.io/v1",
        {
            "spec": {"namespace": "prod"},
            "status": {
                "incomplete": False,
                "resourceRules": [RULE],
                "nonResourceRules": [{"nonResourceURLs": ["/healthz"], "verbs": ["get"]}],
            },
        },
    ),
    (
        apiextensions.CustomResourceDefinition,
        "apiextensions.k8s.io/v1",
        {
            "spec": {
                "group": "instancetype.kubevirt.io",
                "names": {
                    "kind": "VirtualMachineInstancetype",
                    "listKind": "VirtualMachineInstancetypeList",
                    "plural": "virtualmachineinstancetypes",
                    "shortNames": ["vmf"],
                },
                "scope": "Namespaced",
                "conversion": {
                    "strategy": "Webhook",
                    "webhook": {
                        "clientConfig": {"caBundle": "Q0E=", "service": {"name": "webhook", "namespace": "kubevirt"}},
                        "conversionReviewVersions": ["v1"],
                    },
                },
                "versions": [
                    {
                        "name": "v1beta2",
                        "served": True,
                        "storage": True,
                        "additionalPrinterColumns": [
                            {"name": "vCPUs", "type": "integer", "jsonPath": ".spec.cpu.guest"}
                        ],
                        "selectableFields": [{"jsonPath": ".spec.schedulerName"}],
                        "subresources": {"status": {}},
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "required": ["spec"],
                                "properties": {"spec": {"type": "object", "x-kubernetes-map-type": "atomic"}},
                                "additionalProperties": False,
                                "items": [{"type": "string"}],
                                "not": {"required": ["status"]},
                                "default": {},
                                "minimum": 1,
                                "x-kubernetes-preserve-unknown-fields": True,
                                "x-kubernetes-validations": [{"rule": "has(self.spec)", "message": "no spec"}],
                            }
                        },
                    }
                ],
            },
            "status": {
                "acceptedNames": {"kind": "VirtualMachineInstancetype", "plural": "virtualmachineinstancetypes"},
                "conditions": [CONDITION],
                "storedVersions": ["v1beta2"],
            },
        },
    ),
]


@pytest.mark.parametrize(
    ("struct", "api_version", "body"),
    CASES,
    ids=[f"{api_version} {struct.__name__}" for struct, api_version, _ in CASES],
)
def test_rbac_object_or_crd_round_trips_through_json_unchanged(
    struct: type[Model], api_version: str, body: dict[str, Any]
) -> None:
    tree = {"apiVersion": api_version, "kind": struct.__name__, "metadata": {"name": "sample"}, **body}
    assert codec.to_tree(codec.decode(codec.encode(tree), struct)) == tree

from typing import Any

import pytest
from tests.support.rbac import RBAC, build_aggregated_role, build_binding, build_role, build_rule

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.model import JsonObject
from virtshape.api.rbac import ClusterRoleBinding
from virtshape.apiserver.auth.builtinroles import build_bindings, build_roles
from virtshape.apiserver.auth.rbacvalidation import check_rbac_object, default_rbac_object


def build_flawed_binding(
    namespace: str | None = None, role: JsonObject | None = None, subject: JsonObject | None = None
) -> Any:
    binding = to_tree(build_binding("User/bob", namespace=namespace))
    binding["roleRef"] |= role or {}
    binding["subjects"][0] |= subject or {}
    return from_tree(binding, type(build_binding("User/bob", namespace=namespace)))


FLAWED: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    "no verbs": (
        build_role(build_rule("", "pods")),
        [("rules[0].verbs", "Required value: verbs must contain at least one value")],
    ),
    "no resources": (
        build_role(build_rule("get", "pods"), {"verbs": ["get"]}),
        [
            ("rules[1].apiGroups", "Required value: resource rules must supply at least one api group"),
            ("rules[1].resources", "Required value: resource rules must supply at least one resource"),
        ],
    ),
    "paths in a namespaced role": (
        build_role(build_rule("get", nonResourceURLs=["/x"]), namespace="prod"),
        [
            (
                "rules[0].nonResourceURLs",
                'Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
            )
        ],
    ),
    "paths and resources": (
        build_role(build_rule("get", "pods", nonResourceURLs=["/x"])),
        [
            (
                "rules[0].nonResourceURLs",
                'Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
            )
        ],
    ),
    "empty aggregation rule": (
        build_role(aggregationRule={}),
        [
            (
                "aggregationRule.clusterRoleSelectors",
                "Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
            )
        ],
    ),
    "Role in a ClusterRoleBinding": (
        build_flawed_binding(role={"kind": "Role"}),
        [("roleRef.kind", 'Unsupported value: "Role": supported values: "ClusterRole"')],
    ),
    "unsupported role kind": (
        build_flawed_binding("prod", role={"kind": "Pod"}),
        [("roleRef.kind", 'Unsupported value: "Pod": supported values: "ClusterRole", "Role"')],
    ),
    "role of another group": (
        build_flawed_binding(role={"apiGroup": "x.io"}),
        [("roleRef.apiGroup", f'Unsupported value: "x.io": supported values: "{RBAC}"')],
    ),
    "role without a name": (build_flawed_binding(role={"name": ""}), [("roleRef.name", "Required value")]),
    "subject without a name": (
        build_flawed_binding(subject={"name": ""}),
        [("subjects[0].name", "Required value")],
    ),
    "unknown subject kind": (
        build_flawed_binding(subject={"kind": "Robot"}),
        [
            (
                "subjects[0].kind",
                'Unsupported value: "Robot": supported values: "Group", "ServiceAccount", "User"',
            )
        ],
    ),
    "service account without a namespace": (
        build_flawed_binding(subject={"kind": "ServiceAccount"}),
        [("subjects[0].namespace", "Required value")],
    ),
}


@pytest.mark.parametrize(("item", "flaws"), FLAWED.values(), ids=FLAWED.keys())
def test_invalid_rbac_object_has_errors_with_field_paths(item: Any, flaws: list[tuple[str, str]]) -> None:
    causes = check_rbac_object(default_rbac_object(item))
    assert [(cause.field, cause.message) for cause in causes] == flaws


def test_service_account_namespace_defaults_to_that_of_the_binding() -> None:
    binding = build_flawed_binding(namespace="prod", subject={"kind": "ServiceAccount", "apiGroup": None})
    assert check_rbac_object(default_rbac_object(binding)) == []


def test_invalid_aggregation_selector_is_an_error() -> None:
    selector = {"matchExpressions": [{"key": "x", "operator": "Near"}]}
    role = build_role(aggregationRule={"clusterRoleSelectors": [selector]})
    (cause,) = check_rbac_object(role)
    assert cause.field == "aggregationRule.clusterRoleSelectors[0]"


def test_role_reference_of_a_binding_is_immutable() -> None:
    bindings = [build_binding("User/bob"), build_binding("User/eve"), build_binding("User/bob", "ClusterRole/other")]
    before, others, another_role = map(default_rbac_object, bindings)
    assert check_rbac_object(others, before) == []
    (cause,) = check_rbac_object(another_role, before)
    assert (cause.field, cause.message.rpartition(": ")[2]) == ("roleRef", "cannot change roleRef")


@pytest.mark.parametrize("item", [*build_roles(), *build_bindings(), build_aggregated_role("a", "x")])
def test_builtin_roles_and_bindings_are_valid(item: Any) -> None:
    assert default_rbac_object(item) == item
    assert check_rbac_object(item) == []


def test_api_groups_of_bindings_get_defaults() -> None:
    tree: JsonObject = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "roleRef": {"kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "User", "name": "bob"}, {"kind": "ServiceAccount", "name": "robot", "namespace": "prod"}],
    }
    completed = to_tree(default_rbac_object(from_tree(tree, ClusterRoleBinding)))
    assert completed["roleRef"]["apiGroup"] == RBAC
    assert [subject.get("apiGroup") for subject in completed["subjects"]] == [RBAC, None]

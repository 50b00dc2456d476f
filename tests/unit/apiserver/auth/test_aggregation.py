import pytest
from tests.support.rbac import BOB, build_aggregated_role, build_attributes, build_binding, build_role, build_rule

from virtshape.api.codec import from_tree
from virtshape.api.rbac import PolicyRule
from virtshape.apiserver.auth.aggregation import aggregate_rules
from virtshape.apiserver.auth.authorization import Authorizer

READER = build_rule("get", "virtualmachines")


def test_aggregated_role_includes_rules_of_selected_roles_transitively() -> None:
    authorizer = Authorizer(
        [
            build_aggregated_role("r", "to-r"),
            build_aggregated_role("middle", "to-middle", **{"to-r": "true"}),
            build_role(READER, name="leaf", labels={"to-middle": "true"}),
            build_binding("User/bob"),
        ]
    )
    assert authorizer.authorize(BOB, build_attributes("get")).allowed
    authorizer.update("ClusterRole", "", "leaf", None)
    assert not authorizer.authorize(BOB, build_attributes("get")).allowed


def test_roles_that_aggregate_each_other_share_all_rules() -> None:
    roles = [
        build_aggregated_role("a", "to-a", **{"to-b": "true"}),
        build_aggregated_role("b", "to-b", **{"to-a": "true"}),
        build_role(READER, name="c", labels={"to-b": "true"}),
    ]
    by_name = {role.metadata.name: role for role in roles}
    assert [aggregate_rules(by_name[name], by_name) for name in "ab"] == [[from_tree(READER, PolicyRule)]] * 2


@pytest.mark.parametrize(
    ("operator", "values", "selected"),
    [
        ("In", ["y"], True),
        ("In", ["n"], False),
        ("NotIn", ["n"], True),
        ("NotIn", ["y"], False),
        ("Exists", None, True),
        ("DoesNotExist", None, False),
        ("Near", None, False),
    ],
)
def test_aggregated_role_selects_roles_by_label_expressions(
    operator: str, values: list[str] | None, selected: bool
) -> None:
    expression = {"key": "x", "operator": operator, "values": values}
    role = build_role(name="a", aggregationRule={"clusterRoleSelectors": [{"matchExpressions": [expression]}]})
    leaf = build_role(READER, name="leaf", labels={"x": "y"})
    assert aggregate_rules(role, {"leaf": leaf}) == ([from_tree(READER, PolicyRule)] if selected else [])

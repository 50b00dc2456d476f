"""Users that admission trusts."""

import pytest

from virtshape.admission.accounts import TrustedUsers, get_trusted_users
from virtshape.cluster.manifests.naming import name_account

CONTROLLER = name_account("controller", "system")
IN_CLUSTER = get_trusted_users("system")
IN_GROUP = get_trusted_users("system", "system:masters")


def test_only_the_installed_controller_and_api_server_are_trusted() -> None:
    assert IN_CLUSTER.names == {CONTROLLER, name_account("apiserver", "system")}


@pytest.mark.parametrize(
    ("trusted", "name", "groups", "is_trusted"),
    [
        pytest.param(IN_CLUSTER, CONTROLLER, [], True, id="by name"),
        pytest.param(IN_CLUSTER, name_account("controller", "default"), [], False, id="another namespace"),
        pytest.param(IN_CLUSTER, "admin", ["system:masters"], False, id="admin"),
        pytest.param(IN_GROUP, CONTROLLER, ["system:masters"], True, id="by name and group"),
        pytest.param(IN_GROUP, CONTROLLER, ["system:serviceaccounts"], False, id="without the group"),
        pytest.param(IN_GROUP, "admin", ["system:masters"], False, id="by group alone"),
    ],
)
def test_trusted_user_must_have_a_trusted_name_and_the_configured_group(
    trusted: TrustedUsers, name: str, groups: list[str], is_trusted: bool
) -> None:
    assert trusted.includes(name, groups) is is_trusted

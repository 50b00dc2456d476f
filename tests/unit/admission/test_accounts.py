"""Accounts that admission trusts."""

from virtshape.admission.accounts import list_trusted
from virtshape.cluster.manifests.naming import name_account


def test_only_the_installed_controller_and_api_server_are_trusted() -> None:
    expected = {name_account("controller", "system"), name_account("apiserver", "system")}
    assert list_trusted("system") == expected

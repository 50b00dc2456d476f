"""The accounts that admission trusts are those that an installation creates, and no others."""

from virtshape.admission.accounts import list_trusted
from virtshape.cluster.manifests.naming import name_account


def test_the_trusted_accounts_are_the_installed_controller_and_api_server() -> None:
    expected = {name_account("controller", "system"), name_account("apiserver", "system")}
    assert list_trusted("system") == expected

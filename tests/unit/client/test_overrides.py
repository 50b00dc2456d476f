from pathlib import Path

import pytest

from virtshape.client.access import Access, Credentials, Identity, Impersonation, StaticCredentials
from virtshape.client.errors import ConfigError
from virtshape.client.overrides import Overrides, override_access

STATED = Access(
    "https://stated",
    StaticCredentials(Credentials("stated")),
    b"authority",
    server_name="stated",
    acting_as=Impersonation("actor", groups=["stated"], extra={"why": ["because"]}),
)


def test_empty_kubeconfig_overrides_change_nothing() -> None:
    assert override_access(STATED, Overrides()) == STATED


def test_server_and_tls_settings_are_overridden(tmp_path: Path) -> None:
    (tmp_path / "ca").write_bytes(b"other")
    overrides = Overrides(server="https://other", tls_server_name="name", certificate_authority=str(tmp_path / "ca"))
    access = override_access(STATED, overrides)
    assert (access.server, access.server_name, access.authority) == ("https://other", "name", b"other")
    trusting = override_access(STATED, Overrides(insecure_skip_tls_verify=True))
    assert (trusting.authority, trusting.insecure) == (b"", True)


async def test_kubeconfig_credentials_are_overridden(tmp_path: Path) -> None:
    for name in ("crt", "key"):
        (tmp_path / name).write_text(name)
    overrides = Overrides(
        token=f" {tmp_path.name}\n", client_certificate=str(tmp_path / "crt"), client_key=str(tmp_path / "key")
    )
    access = override_access(STATED, overrides)
    assert await access.credentials.fetch() == Credentials(tmp_path.name, Identity(b"crt", b"key"))


def test_kubeconfig_impersonation_is_overridden() -> None:
    actor = override_access(STATED, Overrides(as_="other", as_uid="7")).acting_as
    assert actor == Impersonation("other", "7", ["stated"], {"why": ["because"]})
    assert override_access(STATED, Overrides(as_group=("a", "b"))).acting_as.groups == ("a", "b")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (Overrides(client_key="k"), "must be given together"),
        (Overrides(certificate_authority="/nowhere/ca"), "/nowhere/ca cannot be read: No such file or directory"),
        (Overrides(certificate_authority="ca", insecure_skip_tls_verify=True), "mutually exclusive: keep one of them"),
    ],
    ids=["only a key", "missing file", "CA and skipped verification"],
)
def test_invalid_kubeconfig_overrides_are_rejected(overrides: Overrides, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        override_access(STATED, overrides)

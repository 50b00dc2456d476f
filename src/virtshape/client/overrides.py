"""
Command-line overrides of a kubeconfig: server, CA, credentials and impersonation.

Files that the options refer to are read; no connections are opened.
"""

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from virtshape.client.access import Access, Credentials, Identity, Impersonation, StaticCredentials
from virtshape.client.errors import ConfigError


class Overrides(Struct, frozen=True, kw_only=True):
    """Values that override the kubeconfig; empty values have no effect."""

    server: str = ""
    certificate_authority: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    token: str = ""
    client_certificate: str = ""
    client_key: str = ""
    as_: str = ""
    as_uid: str = ""
    as_group: tuple[str, ...] = ()


def override_access(access: Access, said: Overrides) -> Access:
    """Return the access with the overrides; raise ConfigError if they are inconsistent or a file cannot be read."""
    if said.insecure_skip_tls_verify and said.certificate_authority:
        raise ConfigError("certificate-authority and insecure-skip-tls-verify are mutually exclusive: keep one of them")
    access = replace(
        access,
        server=said.server or access.server,
        server_name=said.tls_server_name or access.server_name,
        acting_as=_override_actor(access.acting_as, said),
    )
    if said.certificate_authority:
        access = replace(access, authority=_read(said.certificate_authority), insecure=False)
    if said.insecure_skip_tls_verify:
        access = replace(access, authority=b"", insecure=True)
    if said.token or said.client_certificate or said.client_key:
        access = replace(access, credentials=StaticCredentials(Credentials(said.token.strip(), _find_identity(said))))
    return access


def _override_actor(actor: Impersonation, said: Overrides) -> Impersonation:
    if not said.as_ and not said.as_uid and not said.as_group:
        return actor
    return Impersonation(said.as_ or actor.user, said.as_uid or actor.uid, said.as_group or actor.groups, actor.extra)


def _find_identity(said: Overrides) -> Identity | None:
    if bool(said.client_certificate) != bool(said.client_key):
        raise ConfigError("client-certificate and client-key must be given together")
    if not said.client_certificate:
        return None
    return Identity(_read(said.client_certificate), _read(said.client_key))


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error

"""
Create, list and remove the users of a data directory.

Credentials are added to the user registry, or revoked there. Callers create or delete the returned bindings through
the API.
"""

import re
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from secrets import token_urlsafe
from typing import Literal, NamedTuple

from virtshape.api.fielderror import FieldError
from virtshape.api.meta import ObjectMeta
from virtshape.api.rbac import ClusterRoleBinding, RoleBinding, RoleRef, Subject
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.authentication import MASTERS
from virtshape.apiserver.auth.authorization import RBAC_GROUP, Binding
from virtshape.apiserver.auth.builtinroles import RBAC_VERSION
from virtshape.apiserver.auth.certificates import CERTIFICATE_LIFETIME
from virtshape.apiserver.auth.kubeconfig import (
    DEFAULT_NAMESPACE,
    ClientKey,
    Server,
    find_token,
    render_kubeconfig,
    write_kubeconfig,
)
from virtshape.apiserver.auth.pki import Pki
from virtshape.apiserver.auth.userregistry import RegistryEntry, UserRegistry, digest_token

ADMIN = "admin"

_NAME = re.compile(r"[^\x00-\x1f\x7f/%\s]{1,64}")


class NewUser(NamedTuple):
    """A new user's kubeconfig, and the bindings to create."""

    kubeconfig: str
    bindings: list[Binding]


class BindingName(NamedTuple):
    """The kind, namespace and name of a binding; the namespace of a ClusterRoleBinding is empty."""

    kind: str
    namespace: str
    name: str


class Directory:
    """The credential files of a data directory."""

    def __init__(self, path: Path, *, certificate_lifetime: timedelta = CERTIFICATE_LIFETIME) -> None:
        self.kubeconfig = path / "kubeconfig"
        self.pki = Pki(path / "pki", lifetime=certificate_lifetime)
        self.registry = UserRegistry(path / "pki" / "users.json")

    def server(self, url: str) -> Server:
        """Return the URL and the CA certificate, for kubeconfigs."""
        return Server(url, self.pki.authority.pem)


def ensure_admin(directory: Directory, url: str) -> Path:
    """Write the admin's kubeconfig for this URL and return its path; reuse a valid token from an existing file."""
    path, registry = directory.kubeconfig, directory.registry
    token = find_token(path.read_text()) if path.exists() else None
    known = registry.find_token(token) if token else None
    if token is None or known is None or known.name != ADMIN:
        registry.remove(ADMIN)
        token = _make_token()
        entry = RegistryEntry(name=ADMIN, kind="token", id=digest_token(token), groups=(MASTERS,), issued=time.time())
        registry.add(entry)
    text = render_kubeconfig(directory.server(url), ADMIN, token)
    if not path.exists() or path.read_text() != text:
        write_kubeconfig(path, text)
    return path


def create_user(
    directory: Directory,
    url: str,
    name: str,
    *,
    namespace: str | None = None,
    role: str | None = None,
    groups: Sequence[str] = (),
    by: Literal["certificate", "token"] = "certificate",
    lifetime: timedelta = CERTIFICATE_LIFETIME,
) -> NewUser:
    """Issue a credential to a user; return the user's kubeconfig, and a binding if a cluster role is given."""
    _validate_name(name)
    issued = time.time()
    if by == "certificate":
        credential = directory.pki.authority.issue_client(name, groups, lifetime=lifetime)
        shown: str | ClientKey = ClientKey(credential.certificate, credential.key)
        identity, expires = credential.serial, credential.expires.timestamp()
    else:
        shown = _make_token()
        identity, expires = digest_token(shown), issued + lifetime.total_seconds()
    entry = RegistryEntry(
        name=name,
        kind=by,
        id=identity,
        groups=tuple(groups),
        issued=issued,
        expires=expires,
        role=role,
        namespace=namespace,
    )
    directory.registry.add(entry)
    text = render_kubeconfig(directory.server(url), name, shown, namespace=namespace or DEFAULT_NAMESPACE)
    return NewUser(text, [_build_binding(entry)] if role else [])


def list_users(directory: Directory) -> list[RegistryEntry]:
    """Return the registry entries of all valid credentials, sorted by user name."""
    return sorted(directory.registry.entries(), key=lambda entry: (entry.name, entry.issued))


def remove_user(directory: Directory, name: str) -> list[BindingName]:
    """Revoke all credentials of a user and return the bindings to delete; raise StatusError 404 for an unknown user."""
    _validate_name(name)
    removed = directory.registry.remove(name)
    if not removed:
        raise StatusError(404, "NotFound", f'users "{name}" not found')
    return list(dict.fromkeys(_name_binding(entry) for entry in removed if entry.role))


def _make_token() -> str:
    return token_urlsafe(32)


def _validate_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        problem = "must be 1 to 64 characters, without spaces, slashes and percent signs"
    elif name.startswith("system:"):
        problem = 'names that start with "system:" are reserved'
    elif name == ADMIN:
        problem = f'"{ADMIN}" is reserved for the kubeconfig in the data directory'
    else:
        return
    raise StatusError(422, "Invalid", f'users "{name}" is invalid: {problem}', [FieldError("name", problem)])


def _name_binding(entry: RegistryEntry) -> BindingName:
    kind = "RoleBinding" if entry.namespace else "ClusterRoleBinding"
    return BindingName(kind, entry.namespace or "", f"user:{entry.name}:{entry.role}")


def _build_binding(entry: RegistryEntry) -> Binding:
    kind, namespace, name = _name_binding(entry)
    struct = RoleBinding if entry.namespace else ClusterRoleBinding
    return struct(
        api_version=RBAC_VERSION,
        kind=kind,
        metadata=ObjectMeta(name=name, namespace=namespace or None),
        role_ref=RoleRef(api_group=RBAC_GROUP, kind="ClusterRole", name=entry.role or ""),
        subjects=[Subject(api_group=RBAC_GROUP, kind="User", name=entry.name)],
    )

"""
Authenticate requests by user token, service account token or client certificate.

Results are cached for a few seconds; the cache contains digests of tokens, not the tokens.
"""

import ssl
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from virtshape.api.core.serviceaccount import name_account_user
from virtshape.api.status import StatusError
from virtshape.apiserver.auth.tokens import ISSUER, Claims, NamedObject, TokenError, TokenSigner, is_web_token
from virtshape.apiserver.auth.userregistry import RegistryEntry, UserRegistry

AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"
SERVICE_ACCOUNTS = "system:serviceaccounts"
CACHE_SECONDS = 5.0
MAX_CACHED_TOKENS = 10_000
NO_EXTRA: Mapping[str, tuple[str, ...]] = {}

FindUid = Callable[[str, str, str], str | None]
"""Finds the UID of an object by resource (`serviceaccounts`, `pods`, `secrets`, `nodes`), namespace and name."""


class User(NamedTuple):
    """An authenticated user."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = NO_EXTRA


class ClientCertificate(NamedTuple):
    """The identity in a verified client certificate, which is parsed once per connection."""

    user: User
    serial: str
    expires: float


class Credential(NamedTuple):
    """The Authorization header or the client certificate that a client authenticates with."""

    authorization: str | None = None
    certificate: ClientCertificate | None = None


class TokenIdentity(NamedTuple):
    """The user that a token identifies, with the token's audiences and expiry."""

    user: User
    audiences: tuple[str, ...]
    expires: float | None = None


class Authenticator:
    """Authenticates requests by their Authorization header or client certificate."""

    def __init__(
        self,
        registry: UserRegistry,
        signer: TokenSigner,
        find_uid: FindUid,
        *,
        audiences: Sequence[str] = (ISSUER,),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.audiences = tuple(audiences)
        self._registry = registry
        self._signer = signer
        self._find_uid = find_uid
        self._clock = clock
        self._cache: dict[Hashable, tuple[User, float, float]] = {}
        """Users, and the times from which and until which they need not be authenticated again."""
        self.changes = 0
        """How many times `forget` was called."""

    def authenticate(self, authorization: str | None, certificate: ClientCertificate | None = None) -> User:
        """Return the user that the certificate or the header identifies; raise StatusError 401 if neither is valid."""
        if certificate is not None:
            return self._recall(_identity(certificate)) or self._accept_certificate(certificate)
        if authorization is None:
            raise unauthorized()
        key = sha256(authorization.encode()).digest()
        return self._recall(key) or self._accept_header(key, authorization)

    def get_expiry(self, credential: Credential) -> float | None:
        """Return when a credential expires, or None if it never does; raise StatusError 401 for an invalid one."""
        self.authenticate(*credential)
        if credential.certificate is not None:
            return credential.certificate.expires
        try:
            return self.review_token(_bearer_token(credential.authorization or "")).expires
        except TokenError:
            raise unauthorized() from None

    def review_token(self, token: str, audiences: Sequence[str] = ()) -> TokenIdentity:
        """
        Return the user of a token, its expiry, and the wanted audiences that it is valid for.

        Raise TokenError if the token is invalid or has none of the wanted audiences. `audiences` defaults to those of
        this server.
        """
        wanted = tuple(audiences) or self.audiences
        entry = self._registry.find_token(token)
        if entry is not None:
            identity = TokenIdentity(_registered_user(entry), self.audiences, entry.expires)
        elif is_web_token(token):
            identity = self._identify_account(self._signer.verify(token, self._clock()))
        else:
            raise TokenError("unknown token")
        shared = tuple(audience for audience in wanted if audience in identity.audiences)
        if not shared:
            raise TokenError(f"the token is valid for audiences {list(identity.audiences)}, not for {list(wanted)}")
        return identity._replace(audiences=shared)

    def forget(self) -> None:
        """Clear the cache after a service account, or an object that tokens are bound to, was deleted."""
        self._cache.clear()
        self.changes += 1

    def _recall(self, key: Hashable) -> User | None:
        known = self._cache.get(key)
        # If the clock was set back, the entry would be used for too long.
        return known[0] if known is not None and known[1] <= self._clock() < known[2] else None

    def _remember(self, key: Hashable, user: User, expires: float | None) -> User:
        if len(self._cache) >= MAX_CACHED_TOKENS:
            self._cache.clear()
        now = self._clock()
        until = now + CACHE_SECONDS
        self._cache[key] = user, now, until if expires is None else min(until, expires)
        return user

    def _accept_header(self, key: bytes, authorization: str) -> User:
        try:
            identity = self.review_token(_bearer_token(authorization))
        except TokenError:
            raise unauthorized() from None
        return self._remember(key, identity.user, identity.expires)

    def _accept_certificate(self, certificate: ClientCertificate) -> User:
        # Checked on each request, because a connection may outlive its certificate.
        if certificate.expires <= self._clock() or self._registry.is_revoked(certificate.serial):
            raise unauthorized()
        return self._remember(_identity(certificate), certificate.user, certificate.expires)

    def _identify_account(self, claims: Claims) -> TokenIdentity:
        stated = claims.kubernetes
        account, namespace = stated.serviceaccount, stated.namespace
        if claims.sub != name_account_user(namespace, account.name):
            raise TokenError("the token's subject is not its service account")
        self._require_exists("serviceaccounts", namespace, account)
        extra = {"authentication.kubernetes.io/credential-id": (f"JTI={claims.jti}",)}
        bound = {"pod": (stated.pod, namespace), "secret": (stated.secret, namespace), "node": (stated.node, "")}
        for kind, (bound_object, where) in bound.items():
            if bound_object is None:
                continue
            self._require_exists(f"{kind}s", where, bound_object)
            if kind != "secret":
                extra[f"authentication.kubernetes.io/{kind}-name"] = (bound_object.name,)
                extra[f"authentication.kubernetes.io/{kind}-uid"] = (bound_object.uid,)
        user = User(claims.sub, (*account_groups(namespace), AUTHENTICATED), account.uid, extra)
        return TokenIdentity(user, tuple(claims.aud), claims.exp)

    def _require_exists(self, resource: str, namespace: str, named: NamedObject) -> None:
        if self._find_uid(resource, namespace, named.name) != named.uid:
            raise TokenError(f'the token\'s {resource.removesuffix("s")} "{named.name}" no longer exists')


def read_certificate(peer: Mapping[str, Any] | None) -> ClientCertificate | None:
    """Return the identity in a certificate that `ssl` verified; None if there is no certificate or common name."""
    if not peer:
        return None
    subject = [pair for names in peer.get("subject", ()) for pair in names]
    name = next((value for key, value in reversed(subject) if key == "commonName"), "")
    if not name:
        return None
    groups = [value for key, value in subject if key == "organizationName"]
    user = User(name, _with_everyone(groups))
    return ClientCertificate(user, peer["serialNumber"], float(ssl.cert_time_to_seconds(peer["notAfter"])))


def unauthorized() -> StatusError:
    """Return the 401 error, without details that would help an attacker."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def account_groups(namespace: str) -> tuple[str, str]:
    """Return the groups of service accounts in this namespace, without `system:authenticated`."""
    return SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}"


def _identity(certificate: ClientCertificate) -> Hashable:
    # The serial number alone may not be unique: a manually operated CA may use a number twice.
    return certificate.serial, certificate.user.name, certificate.user.groups


def _registered_user(entry: RegistryEntry) -> User:
    return User(entry.name, _with_everyone(entry.groups), entry.user_uid)


def _with_everyone(groups: Sequence[str]) -> tuple[str, ...]:
    return (*groups, AUTHENTICATED) if AUTHENTICATED not in groups else tuple(groups)


def _bearer_token(authorization: str) -> str:
    scheme, _, token = authorization.strip().partition(" ")
    if scheme.lower() != "bearer":
        raise TokenError("not a bearer token")
    return token.strip()

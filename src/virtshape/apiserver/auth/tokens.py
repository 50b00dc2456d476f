"""
Service account tokens: JSON Web Tokens signed with ES256, with the claims that Kubernetes uses.

PyJWT verifies the signature; this module checks the issuer and times. Callers check that the account still exists.
"""

from base64 import urlsafe_b64encode
from hashlib import sha256

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt import PyJWS
from jwt.exceptions import PyJWTError

from virtshape.apiserver.auth.pki import CLUSTER_DOMAIN

ISSUER = f"https://kubernetes.default.svc.{CLUSTER_DOMAIN}"
NOT_BEFORE_LEEWAY = 60
MAX_TOKEN_CHARACTERS = 16 * 1024
"""The maximum length of a token: PyJWT takes 50 µs for each 1,000 characters before it verifies the signature."""

_ALGORITHM = "ES256"


class TokenError(Exception):
    """A token is not valid; the message says why."""


class NamedObject(msgspec.Struct, frozen=True):
    """An object that a token refers to."""

    name: str
    uid: str


class KubernetesClaims(msgspec.Struct, frozen=True, omit_defaults=True):
    """The service account, and the object that the token is bound to, if any."""

    namespace: str
    serviceaccount: NamedObject
    pod: NamedObject | None = None
    secret: NamedObject | None = None
    node: NamedObject | None = None


class Claims(msgspec.Struct, frozen=True):
    """The claims of a token, with their JSON Web Token names; times are seconds since 1970."""

    aud: list[str]
    exp: int
    iat: int
    iss: str
    jti: str
    kubernetes: KubernetesClaims = msgspec.field(name="kubernetes.io")
    nbf: int
    sub: str


class TokenSigner:
    """Signs and verifies tokens with one key."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        self._public = key.public_key()
        digest = sha256(self._public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
        self.key_id = urlsafe_b64encode(digest).rstrip(b"=").decode()
        self._signatures = PyJWS([_ALGORITHM])

    def sign(self, claims: Claims) -> str:
        """Return a token with these claims."""
        header = {"typ": "", "kid": self.key_id}  # PyJWT omits an empty `typ`; tokens in Kubernetes have none
        return self._signatures.encode(msgspec.json.encode(claims), self._key, _ALGORITHM, header)

    def verify(self, token: str, now: float) -> Claims:
        """Return the claims of a token; raise TokenError if its signature, issuer or times are not valid."""
        claims = self._verify_signature(token)
        if claims.iss != ISSUER:
            raise TokenError(f'the token was issued by "{claims.iss}", not by this server')
        if claims.exp <= now:
            raise TokenError("the token has expired")
        if claims.nbf > now + NOT_BEFORE_LEEWAY:
            raise TokenError("the token is not valid yet")
        return claims

    def _verify_signature(self, token: str) -> Claims:
        if len(token) > MAX_TOKEN_CHARACTERS:
            raise TokenError(f"the token has more than {MAX_TOKEN_CHARACTERS} characters")
        if "=" in token:  # PyJWT accepts padding, which a JSON Web Token must not have
            raise TokenError("not a service account token: invalid base64url character")
        try:
            # One algorithm and one key: the token must not choose how it is verified.
            signed = self._signatures.decode_complete(token, self._public, [_ALGORITHM])
            if signed["header"].get("kid", self.key_id) != self.key_id:
                raise TokenError("the token was signed with another key")
            return _claims_decoder.decode(signed["payload"])
        except (PyJWTError, ValueError, msgspec.DecodeError) as error:
            raise TokenError(f"not a service account token: {error}") from error


def is_web_token(token: str) -> bool:
    """Return True if the text has the three parts of a JSON Web Token."""
    return token.count(".") == 2


_claims_decoder = msgspec.json.Decoder(Claims)

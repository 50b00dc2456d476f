"""
Service account tokens: JSON Web Tokens signed with ES256, with the claims that Kubernetes uses.

Verifies signatures and times; callers check that the account still exists.
"""

import binascii
from base64 import urlsafe_b64encode
from hashlib import sha256

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from virtshape.apiserver.auth.pki import CLUSTER_DOMAIN

ISSUER = f"https://kubernetes.default.svc.{CLUSTER_DOMAIN}"
NOT_BEFORE_LEEWAY = 60

_ALGORITHM = ec.ECDSA(hashes.SHA256())
_NUMBER_BYTES = 32


class TokenError(Exception):
    """An invalid token, and why."""


class NamedObject(msgspec.Struct, frozen=True):
    """An object that a token refers to."""

    name: str
    uid: str


class KubernetesClaims(msgspec.Struct, frozen=True, omit_defaults=True):
    """The service account, and the object that the token is bound to."""

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


class _Header(msgspec.Struct):
    alg: str
    kid: str | None = None


class TokenSigner:
    """Signs and verifies tokens with one key."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        self._public = key.public_key()
        self.key_id = _encode(
            sha256(self._public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
        ).decode()
        self._header = _encode(msgspec.json.encode({"alg": "ES256", "kid": self.key_id}))

    def sign(self, claims: Claims) -> str:
        """Return a token with these claims."""
        message = self._header + b"." + _encode(msgspec.json.encode(claims))
        r, s = decode_dss_signature(self._key.sign(message, _ALGORITHM))
        signature = r.to_bytes(_NUMBER_BYTES) + s.to_bytes(_NUMBER_BYTES)
        return (message + b"." + _encode(signature)).decode()

    def verify(self, token: str, now: float) -> Claims:
        """Return the claims of a token; raise TokenError if the signature or the times are not valid."""
        try:
            message, _, signature = token.encode("ascii").rpartition(b".")
            header, _, body = message.partition(b".")
            self._verify_signature(message, _decode(header), _decode(signature))
            claims = _claims_decoder.decode(_decode(body))
        except (ValueError, msgspec.DecodeError) as error:
            raise TokenError(f"not a service account token: {error}") from error
        if claims.iss != ISSUER:
            raise TokenError(f'the token was issued by "{claims.iss}"')
        if claims.exp <= now:
            raise TokenError("the token has expired")
        if claims.nbf > now + NOT_BEFORE_LEEWAY:
            raise TokenError("the token is not valid yet")
        return claims

    def _verify_signature(self, message: bytes, header: bytes, signature: bytes) -> None:
        stated = _header_decoder.decode(header)
        # One algorithm and one key: the token must not choose how it is verified.
        if stated.alg != "ES256" or stated.kid not in (None, self.key_id) or len(signature) != 2 * _NUMBER_BYTES:
            raise TokenError("the token was signed with another key")
        r, s = (int.from_bytes(part) for part in (signature[:_NUMBER_BYTES], signature[_NUMBER_BYTES:]))
        try:
            self._public.verify(encode_dss_signature(r, s), message, _ALGORITHM)
        except InvalidSignature:
            raise TokenError("the token was signed with another key") from None


def is_web_token(token: str) -> bool:
    """Return True if the text has the three parts of a JSON Web Token."""
    return token.count(".") == 2


def _encode(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


def _decode(text: bytes) -> bytes:
    if b"+" in text or b"/" in text or b"=" in text:
        raise ValueError("invalid base64url character")
    padded = text.translate(_TO_STANDARD) + b"=" * (-len(text) % 4)
    return binascii.a2b_base64(padded, strict_mode=True)


_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_claims_decoder = msgspec.json.Decoder(Claims)
_header_decoder = msgspec.json.Decoder(_Header)

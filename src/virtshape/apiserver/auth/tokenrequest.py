"""
TokenRequests: issue service account tokens, for example for `kubectl create token`.

Tokens are not stored: the server checks their signature, their expiry and whether the account still exists.
"""

from uuid import uuid4

import msgspec

from virtshape.api.core.serviceaccount import name_account_user
from virtshape.api.fielderror import FieldError
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.api.times import format_timestamp
from virtshape.api.tokenrequest import BoundObjectReference, TokenRequest, TokenRequestSpec, TokenRequestStatus
from virtshape.api.validation.violation import invalid_error, invalid_value
from virtshape.apiserver.auth.authentication import FindUid
from virtshape.apiserver.auth.tokens import (
    ISSUER,
    MAX_TOKEN_CHARACTERS,
    Claims,
    KubernetesClaims,
    NamedObject,
    TokenSigner,
)

DEFAULT_SECONDS = 3600
MIN_SECONDS = 600
MAX_SECONDS = 1 << 32
BINDABLE = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


def answer_token_request(
    request: TokenRequest, *, namespace: str, name: str, signer: TokenSigner, find_uid: FindUid, now: float
) -> TokenRequest:
    """Return the request with a token for the service account `name`; raise StatusError if the request is invalid."""
    spec = request.spec
    account_uid = find_uid("serviceaccounts", namespace, name)
    if account_uid is None:
        raise _not_found("serviceaccounts", name)
    _validate(spec)
    seconds = DEFAULT_SECONDS if spec.expiration_seconds is None else spec.expiration_seconds
    audiences = spec.audiences or [ISSUER]
    issued = int(now)
    claims = Claims(
        aud=audiences,
        exp=issued + seconds,
        iat=issued,
        iss=ISSUER,
        jti=str(uuid4()),
        kubernetes=_kubernetes_claims(namespace, NamedObject(name, account_uid), spec.bound_object_ref, find_uid),
        nbf=issued,
        sub=name_account_user(namespace, name),
    )
    token = signer.sign(claims)
    if len(token) > MAX_TOKEN_CHARACTERS:
        message = f"must not make the token longer than {MAX_TOKEN_CHARACTERS} characters"
        raise _invalid(invalid_value("spec.audiences", f"{len(audiences)} audiences", message))
    expires = format_timestamp(int(claims.exp))
    created = format_timestamp(int(issued))
    return TokenRequest(
        api_version=request.api_version,
        kind=request.kind,
        metadata=ObjectMeta(name=name, namespace=namespace, uid=account_uid, creation_timestamp=created),
        spec=msgspec.structs.replace(spec, audiences=audiences, expiration_seconds=seconds),
        status=TokenRequestStatus(token=token, expiration_timestamp=expires),
    )


def _not_found(resource: str, name: str) -> StatusError:
    return StatusError(404, "NotFound", f'{resource} "{name}" not found').about("", resource, name)


def _validate(spec: TokenRequestSpec) -> None:
    seconds = spec.expiration_seconds
    if seconds is None or MIN_SECONDS <= seconds <= MAX_SECONDS:
        return
    bound = "less than 10 minutes" if seconds < MIN_SECONDS else "larger than 2^32 seconds"
    cause = invalid_value("spec.expirationSeconds", seconds, f"may not specify a duration {bound}")
    raise _invalid(cause)


def _invalid(cause: FieldError) -> StatusError:
    return invalid_error("authentication.k8s.io", "TokenRequest", "", [cause])


def _kubernetes_claims(
    namespace: str, account: NamedObject, reference: BoundObjectReference | None, find_uid: FindUid
) -> KubernetesClaims:
    claims = KubernetesClaims(namespace, account)
    if reference is None:
        return claims
    kind, name = reference.kind or "", reference.name or ""
    if kind not in BINDABLE or reference.api_version not in (None, "", "v1"):
        raise StatusError(400, "BadRequest", f'a token cannot be bound to a "{kind}", only to a Pod, Secret or Node')
    resource = BINDABLE[kind]
    uid = find_uid(resource, "" if kind == "Node" else namespace, name)
    if uid is None:
        raise _not_found(resource, name)
    if reference.uid and reference.uid != uid:
        raise StatusError(
            409,
            "Conflict",
            f'Operation cannot be fulfilled on {resource} "{name}": the UID in the bound object reference '
            f"({reference.uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated",
        )
    return msgspec.structs.replace(claims, **{kind.lower(): NamedObject(name, uid)})

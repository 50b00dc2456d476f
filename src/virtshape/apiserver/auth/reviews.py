"""
Reviews in the authentication and authorization API groups: SubjectAccessReview, TokenReview and others.

The functions return the review with its status. The server authorizes the request before it calls them.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from virtshape.api.authentication import (
    SelfSubjectReview,
    SelfSubjectReviewStatus,
    TokenReview,
    TokenReviewStatus,
    UserInfo,
)
from virtshape.api.authorization import (
    LocalSubjectAccessReview,
    NonResourceAttributes,
    NonResourceRule,
    ResourceAttributes,
    ResourceRule,
    SelfSubjectAccessReview,
    SelfSubjectRulesReview,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
    SubjectAccessReviewStatus,
    SubjectRulesReviewStatus,
)
from virtshape.api.fielderror import FieldError
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.times import now
from virtshape.api.unknownfields import decode_with_unknown
from virtshape.api.validation.violation import invalid_error, invalid_value
from virtshape.apiserver.auth.authentication import Authenticator, User
from virtshape.apiserver.auth.authorization import Attributes, Authorizer
from virtshape.apiserver.auth.tokens import TokenError

T = TypeVar("T")

_GROUP = "authorization.k8s.io"
_SPEC_OPTIONAL = frozenset({"authentication.k8s.io/v1", f"{_GROUP}/v1"})
"""API versions whose reviews may omit the spec."""


Review = (
    SelfSubjectAccessReview
    | SubjectAccessReview
    | LocalSubjectAccessReview
    | SelfSubjectRulesReview
    | TokenReview
    | SelfSubjectReview
)


class AuthContext(NamedTuple):
    """The authenticator and authorizer that reviews consult."""

    authenticator: Authenticator
    authorizer: Authorizer


def read_review(body: bytes, struct: type[T], api_version: str) -> tuple[T, list[str]]:
    """
    Return the review in a request body, and a warning for each unknown field; raise StatusError for invalid reviews.

    Missing apiVersion and kind default to those of the path. A status in the body is ignored.
    """
    try:
        tree = msgspec.json.decode(body, type=JsonObject)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StatusError(400, "BadRequest", f"couldn't get version/kind; json parse error: {error}") from None
    tree.pop("status", None)
    stated = tree.get("apiVersion") or api_version, tree.get("kind") or struct.__name__
    if stated != (api_version, struct.__name__):
        message = f'{stated[1]} in version "{stated[0]}" cannot be handled as a {struct.__name__}'
        raise StatusError(400, "BadRequest", message)
    if tree.get("spec") is None and api_version in _SPEC_OPTIONAL:
        tree["spec"] = {}
    try:
        review, unknown = decode_with_unknown({**tree, "apiVersion": api_version, "kind": struct.__name__}, struct)
        return review, [f'unknown field "{field.problem.field}"' for field in unknown]
    except StatusError as error:
        if error.code == 400:
            error.causes = ()  # errors for bodies that cannot be decoded have no causes
        raise


def answer_review(review: Review, user: User, auth: AuthContext, namespace: str = "") -> Review:
    """Return the review with its status and metadata; the namespace is that of the path."""
    metadata = replace(review.metadata, namespace=namespace or None)
    if isinstance(review, SelfSubjectReview):
        metadata = ObjectMeta(creation_timestamp=now())
    return replace(_answer(review, user, auth, namespace), metadata=metadata)


def _answer(review: Review, user: User, auth: AuthContext, namespace: str) -> Review:
    match review:
        case SelfSubjectAccessReview():
            return answer_self_access(review, user, auth.authorizer)
        case SubjectAccessReview():
            return answer_access(review, auth.authorizer)
        case LocalSubjectAccessReview():
            return answer_local_access(review, namespace, auth.authorizer)
        case SelfSubjectRulesReview():
            return answer_rules(review, user, auth.authorizer)
        case TokenReview():
            return answer_token(review, auth.authenticator)
        case SelfSubjectReview():
            return answer_self(review, user)


def answer_self_access(review: SelfSubjectAccessReview, user: User, authorizer: Authorizer) -> SelfSubjectAccessReview:
    """Return the review, with a status that says whether the caller may make the request."""
    spec = review.spec
    _refuse_if(review.kind, _check_attributes(spec.resource_attributes, spec.non_resource_attributes))
    return replace(review, status=_decide(user, spec.resource_attributes, spec.non_resource_attributes, authorizer))


def answer_access(review: SubjectAccessReview, authorizer: Authorizer) -> SubjectAccessReview:
    """Return the review, with a status that says whether the user in its spec may make the request."""
    return replace(review, status=_answer_about(review.kind, review.spec, [], authorizer))


def answer_local_access(
    review: LocalSubjectAccessReview, namespace: str, authorizer: Authorizer
) -> LocalSubjectAccessReview:
    """Return the review, with a status that says whether the user in its spec may make the request in the namespace."""
    spec, causes = review.spec, []
    if spec.non_resource_attributes is not None:
        causes.append(invalid_value("spec.nonResourceAttributes", None, "disallowed on this kind of request"))
    if spec.resource_attributes is not None:
        stated = spec.resource_attributes.namespace or ""
        if stated != namespace:
            field = "spec.resourceAttributes.namespace"
            causes.append(invalid_value(field, stated, "must match metadata.namespace"))
    return replace(review, status=_answer_about(review.kind, spec, causes, authorizer))


def answer_rules(review: SelfSubjectRulesReview, user: User, authorizer: Authorizer) -> SelfSubjectRulesReview:
    """Return the review with the caller's rules in the spec's namespace; raise StatusError if no namespace is set."""
    if not review.spec.namespace:
        raise StatusError(400, "BadRequest", "no namespace on request")
    rules = authorizer.rules_for(user, review.spec.namespace)
    status = SubjectRulesReviewStatus(
        incomplete=False,
        resource_rules=[
            ResourceRule(rule.verbs, rule.api_groups, rule.resource_names, rule.resources)
            for rule in rules
            if rule.resources
        ],
        non_resource_rules=[
            NonResourceRule(rule.verbs, rule.non_resource_urls) for rule in rules if rule.non_resource_urls
        ],
    )
    return replace(review, status=status)


def answer_token(review: TokenReview, authenticator: Authenticator) -> TokenReview:
    """Return the review with its token's user, or an error, in the status; raise StatusError if it has no token."""
    if not review.spec.token:
        raise StatusError(400, "BadRequest", "token is required for TokenReview in authentication")
    try:
        identity = authenticator.review_token(review.spec.token, review.spec.audiences or ())
    except TokenError as error:
        return replace(review, status=TokenReviewStatus(user=UserInfo(), error=str(error)))
    status = TokenReviewStatus(
        authenticated=True, user=describe_user(identity.user), audiences=list(identity.audiences)
    )
    return replace(review, status=status)


def answer_self(review: SelfSubjectReview, user: User) -> SelfSubjectReview:
    """Return the review with the caller in the status."""
    return replace(review, status=SelfSubjectReviewStatus(describe_user(user)))


def describe_user(user: User) -> UserInfo:
    """Convert the user to the API's format."""
    extra = {key: list(values) for key, values in user.extra.items()}
    return UserInfo(username=user.name, groups=list(user.groups) or None, uid=user.uid or None, extra=extra or None)


def _answer_about(
    kind: str, spec: SubjectAccessReviewSpec, causes: list[FieldError], authorizer: Authorizer
) -> SubjectAccessReviewStatus:
    causes = [*causes, *_check_attributes(spec.resource_attributes, spec.non_resource_attributes)]
    if not spec.user and not spec.groups:
        causes.append(invalid_value("spec.user", "", "at least one of user or group must be specified"))
    _refuse_if(kind, causes)
    user = User(spec.user or "", tuple(spec.groups or ()), spec.uid or "")
    return _decide(user, spec.resource_attributes, spec.non_resource_attributes, authorizer)


def _decide(
    user: User, resource: ResourceAttributes | None, path: NonResourceAttributes | None, authorizer: Authorizer
) -> SubjectAccessReviewStatus:
    decision = authorizer.authorize(user, _attributes(resource, path))
    return SubjectAccessReviewStatus(allowed=decision.allowed, reason=decision.reason or None)


def _attributes(resource: ResourceAttributes | None, path: NonResourceAttributes | None) -> Attributes:
    if resource is None:
        return Attributes((path.verb if path else None) or "", path=(path.path if path else None) or "")
    return Attributes(
        resource.verb or "",
        resource.group or "",
        resource.resource or "",
        resource.subresource or "",
        resource.namespace or "",
        resource.name or "",
    )


def _check_attributes(resource: ResourceAttributes | None, path: NonResourceAttributes | None) -> list[FieldError]:
    if resource is not None and path is not None:
        message = "cannot be specified in combination with resourceAttributes"
        return [invalid_value("spec.nonResourceAttributes", None, message)]
    if resource is None and path is None:
        message = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid_value("spec.resourceAttributes", None, message)]
    return []


def _refuse_if(kind: str, causes: Sequence[FieldError]) -> None:
    if causes:
        error = invalid_error(_GROUP, kind, "", causes)
        error.details.kind = None
        raise error

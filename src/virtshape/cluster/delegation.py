"""
Authorization delegated to the cluster's API server with SubjectAccessReviews.

Decisions are cached for a few seconds. The cache key contains all attributes of the review.
"""

import time
from collections.abc import Hashable
from typing import Final

from virtshape.api.authorization import (
    NonResourceAttributes,
    ResourceAttributes,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
)
from virtshape.api.meta import ObjectMeta
from virtshape.api.times import Clock
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.auth.authorization import Attributes, Decision
from virtshape.client.protocol import Client

CACHE_SECONDS: Final = 10.0
MAX_CACHED_DECISIONS: Final = 4096


class DelegatedAuthorizer:
    """Authorizes requests by asking the API server."""

    def __init__(self, client: Client, clock: Clock = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._cache: dict[Hashable, tuple[float, Decision]] = {}

    async def authorize(self, user: User, wanted: Attributes) -> Decision:
        """Return the decision about a user's request; raise StatusError or UnreachableError if the review fails."""
        key = _cache_key(user), wanted
        known = self._cache.get(key)
        if known is not None and known[0] > self._clock():
            return known[1]
        review = await self._client.create(build_review(user, wanted))
        status = review.status
        decision = Decision(status is not None and status.allowed, (status.reason if status else None) or "")
        if len(self._cache) >= MAX_CACHED_DECISIONS:
            self._cache.clear()
        self._cache[key] = self._clock() + CACHE_SECONDS, decision
        return decision


def _cache_key(user: User) -> Hashable:
    """Return all user attributes in a review, as a key that does not depend on the order of request headers."""
    return user.name, user.uid, frozenset(user.groups), frozenset(user.extra.items())


def build_review(user: User, wanted: Attributes) -> SubjectAccessReview:
    """Return the SubjectAccessReview for a user and an action."""
    spec = SubjectAccessReviewSpec(
        user=user.name,
        groups=list(user.groups) or None,
        uid=user.uid or None,
        extra={key: list(values) for key, values in user.extra.items()} or None,
    )
    if wanted.path:
        spec.non_resource_attributes = NonResourceAttributes(path=wanted.path, verb=wanted.verb)
    else:
        spec.resource_attributes = ResourceAttributes(
            verb=wanted.verb,
            group=wanted.group or None,
            resource=wanted.resource or None,
            subresource=wanted.subresource or None,
            namespace=wanted.namespace or None,
            name=wanted.name or None,
        )
    return SubjectAccessReview(
        api_version="authorization.k8s.io/v1", kind="SubjectAccessReview", metadata=ObjectMeta(), spec=spec
    )

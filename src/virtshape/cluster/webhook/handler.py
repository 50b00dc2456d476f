"""Request handler of the admission and conversion webhooks."""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from typing import Final

from virtshape.admission.accounts import TrustedUsers
from virtshape.admission.admit import complete, has_rules, validate
from virtshape.admission.clonesources import CloneSources, find_clone_request, search_clone_sources
from virtshape.admission.clusterstate import Admitted, Steps
from virtshape.admission.conversionreview import answer_conversion
from virtshape.admission.review import AdmissionRequest, allow, deny, parse_admission_request
from virtshape.admission.revisiondeletion import may_be_in_use, search_deletion_warnings
from virtshape.admission.submission import Submission
from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.admission.clonepermission import require_clone_permission
from virtshape.apiserver.admission.verdicts import VerdictCounters
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.limits import validate_nesting
from virtshape.apiserver.message import JSON, AnyResponse, Request, Response
from virtshape.apiserver.responses import NO_CACHE, build_error_response, build_not_found_response
from virtshape.client.cache import ObjectKey
from virtshape.client.errors import ConfigError, UnreachableError
from virtshape.cluster.admissioncontext import AdmissionContext
from virtshape.cluster.delegation import DelegatedAuthorizer
from virtshape.cluster.manifests import naming
from virtshape.telemetry.histogram import BOUNDS, Histogram

MAX_CONVERSION_BYTES: Final = 64 * 1024 * 1024
"""Maximum size of a conversion request, in which the API server sends all objects of a list."""
MAX_REVIEW_BYTES: Final = 8 * 1024 * 1024
"""Maximum size of an AdmissionReview, which may contain two objects: the submitted and the stored object."""
MAX_REVIEWED_BYTES: Final = MAX_REVIEW_BYTES
"""Maximum size of all AdmissionReviews handled at a time; decoded, they need up to 75 times as much memory."""
EXTRA_BOUNDS: Final = (0.00025, 0.0005)
"""Additional histogram bounds in seconds, because most responses take less than the first default bound."""
_log = logging.getLogger(__name__)


def get_limit(path: str) -> int:
    """Return the maximum size of a request body."""
    return MAX_CONVERSION_BYTES if path == naming.CONVERT_PATH else MAX_REVIEW_BYTES


class Counts:
    """Counts responses by path and status code, verdicts, and durations by path."""

    def __init__(self) -> None:
        self.codes: Counter[tuple[str, int]] = Counter()
        self.verdicts = {
            naming.MUTATE_PATH: VerdictCounters("mutating"),
            naming.VALIDATE_PATH: VerdictCounters("validating"),
        }
        self.durations = {
            path: Histogram((*EXTRA_BOUNDS, *BOUNDS))
            for path in (naming.MUTATE_PATH, naming.VALIDATE_PATH, naming.CONVERT_PATH)
        }

    def add(self, path: str, code: int, seconds: float) -> None:
        """Count one response."""
        self.codes[path, code] += 1
        self.durations[path].add(seconds)


class ByteLimiter:
    """Limits the bytes in use and grants them in order; a request above the limit waits until no bytes are in use."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._used = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size: int) -> None:
        """Wait until this many bytes are available, and reserve them."""
        if not self._is_full(size) and not (self._used and self._waiting):
            self._used += size
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, granted))
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self.release(size)
            raise

    def release(self, size: int) -> None:
        """Release reserved bytes, and grant them to waiting requests."""
        self._used -= size
        while self._waiting and not self._is_full(self._waiting[0][0]):
            size, granted = self._waiting.popleft()
            if not granted.cancelled():
                self._used += size
                granted.set_result(None)

    def _is_full(self, size: int) -> bool:
        return self._used > 0 and self._used + size > self._most


class Webhook:
    """Handles reviews from the API server; `trusted` lists the service accounts of virtshape's components."""

    def __init__(self, context: AdmissionContext, authorizer: DelegatedAuthorizer, trusted: TrustedUsers) -> None:
        self._context = context
        self._authorizer = authorizer
        self._trusted = trusted
        self._limiter = ByteLimiter(MAX_REVIEWED_BYTES)
        self.counts = Counts()

    def handle(self, request: Request) -> AnyResponse | Awaitable[AnyResponse]:
        """Return the response to a request, or an awaitable that returns it."""
        if request.method != "POST":
            return build_not_found_response()
        match request.path:
            case naming.MUTATE_PATH:
                return self._review(request, self._mutate)
            case naming.VALIDATE_PATH:
                return self._review(request, self._validate)
            case naming.CONVERT_PATH:
                return self._convert(request)
            case _:
                return build_not_found_response()

    def _convert(self, request: Request) -> Response:
        began = time.perf_counter()
        try:
            body = answer_conversion(request.body)
        except StatusError as error:
            self.counts.add(naming.CONVERT_PATH, error.code, time.perf_counter() - began)
            return build_error_response(error)
        self.counts.add(naming.CONVERT_PATH, 200, time.perf_counter() - began)
        return Response(200, body, JSON, NO_CACHE)

    async def _review(
        self, request: Request, decide: Callable[[AdmissionRequest, Kind], Awaitable[Admitted]]
    ) -> Response:
        await self._limiter.take(len(request.body))
        try:
            return await self._review_now(request, decide)
        finally:
            self._limiter.release(len(request.body))

    async def _review_now(
        self, request: Request, decide: Callable[[AdmissionRequest, Kind], Awaitable[Admitted]]
    ) -> Response:
        began = time.perf_counter()
        try:
            validate_nesting(request.body)
            review = parse_admission_request(request.body)
        except StatusError as error:
            self.counts.add(request.path, error.code, time.perf_counter() - began)
            return build_error_response(error)
        body = await self._answer(review, decide, self.counts.verdicts[request.path])
        self.counts.add(request.path, 200, time.perf_counter() - began)
        return Response(200, body, JSON, NO_CACHE)

    async def _answer(
        self,
        review: AdmissionRequest,
        decide: Callable[[AdmissionRequest, Kind], Awaitable[Admitted]],
        verdicts: VerdictCounters,
    ) -> bytes:
        kind = review.find_kind()
        if kind is not None and review.operation == "DELETE" and review.old and may_be_in_use(kind, review.old):
            verdicts.count_allowed(review.operation, kind)
            return allow(review, warnings=await self._warn_of_deletion(review, review.old))
        if kind is None or review.new is None or review.operation not in ("CREATE", "UPDATE"):
            return allow(review)
        if review.sub_resource or not has_rules(kind):
            return allow(review)
        try:
            admitted = await self._decide(review, kind, decide)
        except StatusError as error:
            verdicts.count_denied(review.operation, kind, error)
            return deny(review, error)
        verdicts.count_allowed(review.operation, kind)
        return allow(review, admitted)

    async def _decide(
        self,
        review: AdmissionRequest,
        kind: Kind,
        decide: Callable[[AdmissionRequest, Kind], Awaitable[Admitted]],
    ) -> Admitted:
        try:
            return await decide(review, kind)
        except (UnreachableError, ConfigError) as error:
            _log.error(
                "admission of %s %s %s failed: %s; request denied",
                review.operation,
                kind.kind,
                ObjectKey(review.namespace, review.name),
                error,
            )
            message = f"reading the objects that the {kind.kind} refers to failed: {error}"
            raise StatusError(503, "ServiceUnavailable", message) from error

    async def _warn_of_deletion(self, review: AdmissionRequest, old: JsonObject) -> list[str]:
        """Return the warnings about the deletion of a revision, which is never denied."""
        try:
            return await self._context.run(lambda: search_deletion_warnings(old))
        except (StatusError, UnreachableError, ConfigError) as error:
            _log.warning(
                "reading the VM of revision %s failed: %s; allowing its deletion without a warning",
                ObjectKey(review.namespace, review.name),
                error,
            )
            return []

    async def _mutate(self, review: AdmissionRequest, kind: Kind) -> Admitted:
        submission, cluster = Submission(kind, review.new or {}, review.old), self._context.cluster
        trusted = self._trusted.includes(review.user_info.username, review.user_info.groups)
        if _infers(submission.new):  # the inferred values, or the error, reveal data of the source objects
            request = find_clone_request(submission, review.namespace)
            if request is not None:
                sources = await self._context.run(lambda: search_clone_sources(request))
                await self._require_clone_permission(review, kind, sources)
        return await self._context.run(lambda: complete(submission, cluster, trusted=trusted))

    async def _validate(self, review: AdmissionRequest, kind: Kind) -> Admitted:
        submission, cluster = Submission(kind, review.new or {}, review.old), self._context.cluster
        trusted = self._trusted.includes(review.user_info.username, review.user_info.groups)
        request = find_clone_request(submission, review.namespace)

        def start() -> Steps[tuple[Admitted, CloneSources]]:
            admitted = yield from validate(submission, cluster, trusted=trusted)
            return admitted, (yield from search_clone_sources(request)) if request is not None else CloneSources()

        admitted, sources = await self._context.run(start)
        await self._require_clone_permission(review, kind, sources)
        return admitted

    async def _require_clone_permission(self, review: AdmissionRequest, kind: Kind, sources: CloneSources) -> None:
        user_info = review.user_info
        extra = {key: tuple(values) for key, values in user_info.extra.items()}
        user = User(user_info.username, tuple(user_info.groups), user_info.uid, extra)
        authorize = self._authorizer.authorize
        await require_clone_permission(sources, user, kind, review.namespace, review.name, authorize)


def _infers(new: JsonObject) -> bool:
    """Return True if a VM asks for its instance type or preference to be inferred from a volume."""
    spec = new.get("spec") or {}
    matchers = (spec.get("instancetype"), spec.get("preference"))
    return any(isinstance(one, dict) and one.get("inferFromVolume") for one in matchers)

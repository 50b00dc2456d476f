"""
One request of the API server to one answer: what may be written, and in which form, or objects at another version.

Decides nothing: that is admission's, which sees the cluster through its context.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from virtshape.admission.admit import admit, complete, has_rules
from virtshape.admission.clones import CloneSources, explain_forbidden_clone, find_clone_sources
from virtshape.admission.clusterstate import Admitted, ClusterState, Tree
from virtshape.admission.conversionreview import answer_conversion
from virtshape.admission.review import AdmissionRequest, allow, deny, parse_admission_request
from virtshape.api.kinds import Kind
from virtshape.api.status import StatusError
from virtshape.apiserver.admission.clones import act_as, make_attributes
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.auth.authorization import refuse
from virtshape.apiserver.http import AnyResponse
from virtshape.apiserver.message import JSON, Request, Response
from virtshape.apiserver.responses import NO_CACHE, build_error_response, build_not_found_response
from virtshape.client.errors import ConfigError, UnreachableError
from virtshape.cluster.admissioncontext import AdmissionContext
from virtshape.cluster.delegation import DelegatedAuthorizer
from virtshape.controllers.runtime.counters import BOUNDS, Histogram

MUTATE: Final = "/admit/mutate"
VALIDATE: Final = "/admit/validate"
CONVERT: Final = "/convert"
SHORTEST: Final = (0.00025, 0.0005)
"""Seconds: bounds below the usual ones, since most answers take less than the first of those."""
_log = logging.getLogger(__name__)


class Counts:
    """What was asked and answered."""

    def __init__(self) -> None:
        self.outcomes: dict[tuple[str, str], int] = {}
        self.durations = {path: Histogram((*SHORTEST, *BOUNDS)) for path in (MUTATE, VALIDATE, CONVERT)}

    def add(self, path: str, outcome: str, seconds: float) -> None:
        """Count one answer."""
        self.outcomes[path, outcome] = self.outcomes.get((path, outcome), 0) + 1
        self.durations[path].add(seconds)


class Webhook:
    """Answers an API server; `trusted` are the users that write on behalf of the system itself."""

    def __init__(self, context: AdmissionContext, authorizer: DelegatedAuthorizer, trusted: Collection[str]) -> None:
        self._context = context
        self._authorizer = authorizer
        self._trusted = frozenset(trusted)
        self.counts = Counts()

    def handle(self, request: Request) -> AnyResponse | Awaitable[AnyResponse]:
        """The answer to a request, or the promise of one."""
        if request.method != "POST":
            return build_not_found_response()
        match request.path:
            case "/admit/mutate":
                return self._review(request, self._mutate)
            case "/admit/validate":
                return self._review(request, self._validate)
            case "/convert":
                return self._convert(request)
            case _:
                return build_not_found_response()

    def _convert(self, request: Request) -> Response:
        began = time.perf_counter()
        try:
            body = answer_conversion(request.body)
        except StatusError as error:
            self.counts.add(CONVERT, "failed", time.perf_counter() - began)
            return build_error_response(error)
        self.counts.add(CONVERT, "done", time.perf_counter() - began)
        return Response(200, body, JSON, NO_CACHE)

    async def _review(
        self, request: Request, decide: Callable[[AdmissionRequest, Kind], Awaitable[Admitted]]
    ) -> Response:
        began = time.perf_counter()
        try:
            question = parse_admission_request(request.body)
        except StatusError as error:
            self.counts.add(request.path, "failed", time.perf_counter() - began)
            return build_error_response(error)
        outcome, body = await self._answer(question, decide)
        self.counts.add(request.path, outcome, time.perf_counter() - began)
        return Response(200, body, JSON, NO_CACHE)

    async def _answer(
        self, question: AdmissionRequest, decide: Callable[[AdmissionRequest, Kind], Awaitable[Admitted]]
    ) -> tuple[str, bytes]:
        kind = question.find_kind()
        if kind is None or question.new is None or question.operation not in ("CREATE", "UPDATE"):
            return "allowed", allow(question)
        if question.sub_resource or not has_rules(kind):
            return "allowed", allow(question)
        try:
            return "allowed", allow(question, await decide(question, kind))
        except StatusError as error:
            return "denied", deny(question, error)
        except (UnreachableError, ConfigError) as error:
            _log.error("%s %s %s/%s: %s", question.operation, kind.kind, question.namespace, question.name, error)
            words = f"what the {kind.kind} refers to cannot be looked up: {error}"
            return "failed", deny(question, StatusError(503, "ServiceUnavailable", words))

    async def _mutate(self, question: AdmissionRequest, kind: Kind) -> Admitted:
        new, old = question.new or {}, question.old
        trusted = question.user_info.username in self._trusted
        if _infers(new):  # what a VM infers, or fails to infer, tells about the objects that it would copy
            copying = await self._context.decide(
                lambda world: find_clone_sources(kind, new, old, question.namespace, world.find)
            )
            await self._check_copying(question, kind, copying)
        return await self._context.decide(lambda world: complete(kind, new, old, world, trusted=trusted))

    async def _validate(self, question: AdmissionRequest, kind: Kind) -> Admitted:
        new, old = question.new or {}, question.old
        trusted = question.user_info.username in self._trusted

        def judge(world: ClusterState) -> tuple[Admitted, CloneSources]:
            admitted = admit(kind, new, old, world, trusted=trusted)
            return admitted, find_clone_sources(kind, new, old, question.namespace, world.find)

        admitted, copying = await self._context.decide(judge)
        await self._check_copying(question, kind, copying)
        return Admitted(new, admitted.warnings)

    async def _check_copying(self, question: AdmissionRequest, kind: Kind, copying: CloneSources) -> None:
        asker = question.user_info
        extra = {key: tuple(values) for key, values in asker.extra.items()}
        users = [User(asker.username, tuple(asker.groups), asker.uid, extra)]
        if copying.account:
            users.append(act_as(question.namespace, copying.account))
        for namespace in copying.namespaces:
            wanted = make_attributes(namespace)
            if not any([(await self._authorizer.authorize(user, wanted)).allowed for user in users]):
                words = explain_forbidden_clone([user.name for user in users], namespace)
                raise refuse(kind.group, kind.plural, question.name, words)


def _infers(new: Tree) -> bool:
    """Return True if a VM asks for its instance type or preference to be inferred from a volume."""
    spec = new.get("spec") or {}
    matchers = (spec.get("instancetype"), spec.get("preference"))
    return any(isinstance(one, dict) and one.get("inferFromVolume") for one in matchers)

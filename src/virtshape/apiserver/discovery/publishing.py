"""Serve discovery, OpenAPI, version and health documents, with ETags for caching."""

from collections.abc import Awaitable, Callable, Mapping

from virtshape.api.status import StatusError
from virtshape.apiserver.discovery.aggregated import GROUP, KIND, VERSION, write_aggregated_discovery
from virtshape.apiserver.discovery.discovery import write_discovery
from virtshape.apiserver.discovery.document import Document
from virtshape.apiserver.discovery.health import ENDPOINTS, answer_check, answer_health, list_health_paths
from virtshape.apiserver.discovery.version import write_root, write_version
from virtshape.apiserver.encoding.negotiation import ACCEPTED, choose_format
from virtshape.apiserver.message import PLAIN_TEXT, Request, Response
from virtshape.apiserver.openapi.documents import write_v2, write_v2_protobuf, write_v3, write_v3_index, write_v3_root
from virtshape.apiserver.openapi.roots import ROOTS
from virtshape.apiserver.responses import NO_CACHE
from virtshape.apiserver.routeerrors import unsupported_method_error
from virtshape.supervise.checks import PASSED, Check, Checks


class Publisher:
    """Serves documents by path."""

    def __init__(
        self,
        address: str,
        checks: Checks,
        groups: Mapping[str, list[str]] | None = None,
        *,
        scrape: Callable[[Request], Awaitable[Response]] | None = None,
    ) -> None:
        """Set up the publisher; if `groups` is given, publish only these groups, without OpenAPI documents."""
        self._checks = checks
        self._groups = groups
        self._scrape = scrape
        self._plain = write_discovery(address, groups)
        self._aggregated = write_aggregated_discovery(groups)
        self._version = write_version()

    def set_address(self, address: str) -> None:
        """Set the server's address; the port may not be known until the server listens."""
        self._plain = write_discovery(address, self._groups)

    def answer(
        self, request: Request, *, reveal: Callable[[], bool] = lambda: False
    ) -> Response | Awaitable[Response] | None:
        """
        Return the response for the path, or an awaitable that returns it; None if no document has this path.

        If `reveal` returns True, failed health checks include reasons.
        """
        if not request.path.startswith("/"):
            return None
        path = request.path.rstrip("/") or "/"
        first = path.split("/")[1]
        if first in ENDPOINTS:
            return self._answer_health(request, path, first, reveal)
        if path == "/metrics" and self._scrape is not None:
            _require_method(request)
            return self._scrape(request)
        document = self._find(request, path)
        if document is None:
            return None
        _require_method(request)
        return _send(request, document)

    def _find(self, request: Request, path: str) -> Document | None:
        accept = request.headers.get("accept", "")
        if self._groups is not None and path.startswith("/openapi/"):
            return None
        match path:
            case "/":
                return write_root(self._list_paths())
            case "/version":
                return self._version
            case "/api" | "/apis":
                return self._choose_discovery(path, accept)
            case "/openapi/v2":
                return write_v2_protobuf() if "proto-openapi" in accept.split(",")[0] else write_v2()
            case "/openapi/v3":
                return write_v3_index()
        parts = path.split("/")
        match parts:
            case ["", "openapi", "v3", name] if name in ROOTS:
                return write_v3_root(name)
            case ["", "openapi", "v3", "api", version]:
                return write_v3("", version)
            case ["", "openapi", "v3", "apis", group, version]:
                return write_v3(group, version)
        return self._plain.get(path)

    def _choose_discovery(self, path: str, accept: str) -> Document:
        for offer in accept.split(","):
            media, *parameters = (part.strip() for part in offer.split(";"))
            given = dict(parameter.split("=", 1) for parameter in parameters if "=" in parameter)
            if media != "application/json" or "as" not in given:
                continue
            if (given.get("g"), given.get("v"), given["as"]) == (GROUP, VERSION, KIND):
                return self._aggregated[path]
        if not choose_plain(accept):
            raise StatusError(406, "NotAcceptable", f"only the following media types are accepted: {ACCEPTED}")
        return self._plain[path]

    def _list_paths(self) -> list[str]:
        metrics = ["/metrics"] if self._scrape is not None else []
        health = [path for endpoint in ENDPOINTS for path in list_health_paths(endpoint, self._list_checks(endpoint))]
        return [*self._plain, *health, *metrics, "/version", "/openapi/v2", "/openapi/v3"]

    def _list_checks(self, endpoint: str) -> Mapping[str, Check]:
        """Return the checks of an endpoint: only `ping` for `livez`, because failed tasks do not affect liveness."""
        return {"ping": PASSED} if endpoint == "livez" else {"ping": PASSED, **self._checks()}

    def _answer_health(self, request: Request, path: str, endpoint: str, reveal: Callable[[], bool]) -> Response | None:
        checks = self._list_checks(endpoint)
        name = path.removeprefix(f"/{endpoint}").strip("/")
        if name:
            if name not in checks:
                return None
            health = answer_check(checks[name], reveal=reveal())
        else:
            excluded = request.query.get("exclude", [])
            verbose = "verbose" in request.query
            health = answer_health(endpoint, checks, verbose=verbose, excluded=excluded, reveal=reveal())
        headers = (*NO_CACHE, ("x-content-type-options", "nosniff"))
        return Response(health.status, health.text.encode(), PLAIN_TEXT, headers)


def _require_method(request: Request) -> None:
    if request.method not in ("GET", "HEAD"):
        raise unsupported_method_error()


def choose_plain(accept: str) -> bool:
    """Return True if the client accepts a media type without the `as` parameter, that is, plain discovery documents."""
    if not accept:
        return True
    try:
        response_format = choose_format(",".join(offer for offer in accept.split(",") if "as=" not in offer))
    except StatusError:
        return False
    return response_format.shape == "object" and any("as=" not in offer for offer in accept.split(","))


def _send(request: Request, document: Document) -> Response:
    headers = (("cache-control", "public"), ("etag", document.etag), ("vary", "Accept"))
    if document.etag in request.headers.get("if-none-match", ""):
        return Response(304, b"", "", headers)
    if document.is_compressed and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(200, document.content, document.content_type, (*headers, ("content-encoding", "gzip")))
    return Response(200, document.body, document.content_type, headers)

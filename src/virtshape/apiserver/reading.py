"""Get and list: send stored bytes, and decode them only if a selector or the response format requires it."""

from collections.abc import Callable
from typing import Final

import msgspec

from virtshape.api.status import StatusError
from virtshape.apiserver.encoding.negotiation import ResponseFormat, choose_format
from virtshape.apiserver.encoding.partial import partial_list, partial_object
from virtshape.apiserver.encoding.table import DEFAULT_INCLUDE, render_table
from virtshape.apiserver.listoptions import (
    ListOptions,
    format_continuation,
    parse_continuation,
    read_options,
    read_revision,
    read_watch_revision,
)
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.resource import Resource, resource_of
from virtshape.apiserver.responses import build_response, future_revision_error
from virtshape.apiserver.route import Route
from virtshape.apiserver.selectors.selection import Selection, compile_selection
from virtshape.apiserver.source import ObjectSource
from virtshape.store.errors import CompactedError, FutureError
from virtshape.store.record import Key, Page, Record

SELECTED_AT_ONCE: Final = 500
MAX_RENDERED_BYTES: Final = 8 * 1024 * 1024
"""Size of the objects of a JSON list that is rendered without leaving the event loop; other formats have less."""
YAML_COST: Final = 60
"""How many times as long YAML takes as JSON."""
_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter, or use the continue token in this response to retrieve "
    "the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that "
    "were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


def not_found(resource: Resource, name: str) -> StatusError:
    """Return the 404 error for an object."""
    error = StatusError(404, "NotFound", f'{resource.name} "{name}" not found')
    return error.about(resource.kind.group, resource.kind.plural, name)


def get_object(store: ObjectSource, request: Request, route: Route) -> Response:
    """Return a response with one object; raise StatusError 404 if the object does not exist."""
    response_format = choose_format(request.headers.get("accept", ""))
    resource = resource_of(route.kind)
    if asked := read_watch_revision(request.parameter("resourceVersion")):
        require_revision_reached(store, asked)
    record = store.get(resource.key(route.namespace, route.name))
    if record is None:
        raise not_found(resource, route.name)
    return build_response(request, response_format, render_object(resource, response_format, record, request))


def render_object(resource: Resource, response_format: ResponseFormat, record: Record, request: Request) -> bytes:
    """Return one object in the requested format; raise StatusError if the format is only for lists."""
    value = resource.convert(record.value)
    if response_format.shape == "partial":
        if response_format.of_list:
            raise _list_form_error(resource)
        return partial_object(value, response_format.version)
    if response_format.shape == "table":
        include = request.parameter("includeObject") or DEFAULT_INCLUDE
        return render_table(resource.kind, [value], str(record.revision), response_format.version, include)
    return value


def _list_form_error(resource: Resource) -> StatusError:
    if resource.custom:
        return StatusError(500, "", "content is not a list")
    message = "you requested PartialObjectMetadataList, but the requested object is not a list"
    return StatusError(406, "NotAcceptable", message)


def list_objects(store: ObjectSource, request: Request, route: Route) -> Response | Callable[[], Response]:
    """
    Return a response with all matching objects, or one page of them.

    If rendering takes long, return a function that renders the response in another thread. The function may raise
    StatusError.
    """
    response_format = choose_format(request.headers.get("accept", ""))
    options = read_options(request, watch=False)
    resource = resource_of(route.kind)
    selection = compile_selection(resource, options)
    page = get_page(store, resource, route.namespace or None, options, selection)

    def render() -> Response:
        values = [resource.convert(record.value) for record in page.records]
        rest = get_continuation(page, options, selection, route)
        body = render_list(resource, response_format, values, request, str(page.revision), *rest)
        return build_response(request, response_format, body)

    return render if _is_slow(page, response_format, request) else render()


def _is_slow(page: Page, response_format: ResponseFormat, request: Request) -> bool:
    """Return True if a list takes more than about 50 ms to render."""
    cost = YAML_COST if response_format.yaml else 1 if response_format.shape == "object" else 2
    if "gzip" in request.headers.get("accept-encoding", ""):
        cost += 2
    return sum(len(record.value) for record in page.records) * cost > MAX_RENDERED_BYTES


def get_continuation(page: Page, options: ListOptions, selection: Selection, route: Route) -> tuple[str, int]:
    """Return the continue token after a page and the number of remaining objects (0 if a selector is used)."""
    if not options.limit or not page.remaining:
        return "", 0
    continuation = format_continuation(page.revision, page.records[-1].key, namespaced=bool(route.namespace))
    return continuation, 0 if selection.selects else page.remaining


def require_revision_reached(store: ObjectSource, revision: int) -> None:
    """Raise StatusError if the store has not reached a revision."""
    if revision > store.newest:
        raise future_revision_error(FutureError(revision, store.newest))


def get_page(
    store: ObjectSource, resource: Resource, namespace: str | None, options: ListOptions, selection: Selection
) -> Page:
    """
    Return one page of a list; with a selector and a limit, read further objects until enough match.

    Raise StatusError if the options are invalid, or if their revision is compacted or in the future.
    """
    at, after = None, None
    if options.continuation:
        if options.revision and options.revision != "0":
            raise StatusError(400, "BadRequest", "specifying resource version is not allowed when using continue")
        revision, after = parse_continuation(options.continuation, resource.name, namespace or "")
        at = None if revision < 0 else revision
    elif options.revision:
        asked = read_revision(options.revision)
        if options.match == "Exact" or (asked and options.limit and not options.match):
            at = asked
        else:
            require_revision_reached(store, asked)
    # For resourceVersion 0, the limit is ignored, as in kube-apiserver.
    limit = options.limit if options.continuation or options.revision != "0" else 0
    try:
        return _select(store, resource, namespace, limit or -1, selection, at, after)
    except FutureError as error:
        raise future_revision_error(error) from None
    except CompactedError as error:
        if after is None:
            raise StatusError(410, "Expired", "The resourceVersion for the provided list is too old.") from None
        expired = StatusError(410, "Expired", _EXPIRED)
        expired.continuation = format_continuation(-1, after, namespaced=namespace is not None)
        raise expired from error


def _select(
    store: ObjectSource,
    resource: Resource,
    namespace: str | None,
    limit: int,
    selection: Selection,
    at: int | None,
    after: Key | None,
) -> Page:
    by_key = namespace is not None or not resource.kind.namespaced
    if selection.name is not None and by_key and at is None and after is None:
        record = store.get(resource.key(namespace or "", selection.name))
        return Page([record] if record and selection.matches(record.value) else [], store.newest, 0)
    if not selection.selects:
        return store.list(resource.name, namespace, after=after, limit=limit, at=at)
    step = max(limit, SELECTED_AT_ONCE) if limit > 0 else -1
    page = store.list(resource.name, namespace, after=after, limit=step, at=at)
    kept = _keep(page, selection)
    while len(kept) < limit and page.remaining:
        page = store.list(resource.name, namespace, after=page.records[-1].key, limit=step, at=page.revision)
        kept += _keep(page, selection)
    cut = len(kept) - limit if limit > 0 else 0
    return Page(kept[:limit] if cut > 0 else kept, page.revision, max(page.remaining, cut))


def _keep(page: Page, selection: Selection) -> list[Record]:
    return [r for r in page.records if selection.may_match(r.key) and selection.matches(r.value)]


def render_list(
    resource: Resource,
    response_format: ResponseFormat,
    values: list[bytes],
    request: Request,
    revision: str,
    continuation: str = "",
    remaining: int = 0,
) -> bytes:
    """Return a list in the requested format; raise StatusError if the format is only for single objects."""
    metadata: dict[str, object] = {"resourceVersion": revision}
    if continuation or (resource.custom and response_format.shape == "object"):
        metadata["continue"] = continuation
    if remaining:
        metadata["remainingItemCount"] = remaining
    if response_format.shape == "partial":
        if not response_format.of_list:
            message = "you requested PartialObjectMetadata, but the requested object is a list"
            raise StatusError(406, "NotAcceptable", message)
        return partial_list(values, metadata, response_format.version)
    if response_format.shape == "table":
        include = request.parameter("includeObject") or DEFAULT_INCLUDE
        return render_table(resource.kind, values, revision, response_format.version, include, metadata)
    head = b'{"kind":"%bList","apiVersion":"%b","metadata":%b,"items":[' % (
        resource.kind.kind.encode(),
        resource.kind.api_version.encode(),
        msgspec.json.encode(metadata),
    )
    parts = [*_without_type(values, resource)] or [b""]
    parts[0] = head + parts[0]
    parts[-1] += b"]}"
    return b",".join(parts)


def _without_type(values: list[bytes], resource: Resource) -> list[bytes]:
    """Return list items without apiVersion and kind, as Kubernetes returns objects of built-in kinds."""
    if resource.custom:
        return values
    head = b'{"apiVersion":"%b","kind":"%b",' % (resource.kind.api_version.encode(), resource.kind.kind.encode())
    return [b"{" + value.removeprefix(head) if value.startswith(head) else value for value in values]

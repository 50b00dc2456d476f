"""Get and list: send stored bytes, and decode them only if a selector or the response format requires it."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

import msgspec

from virtshape.api.status import StatusError
from virtshape.apiserver.encoding.jsonlist import join_items
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
from virtshape.apiserver.source import ObjectSource, PageSource
from virtshape.store.errors import CompactedError, FutureError
from virtshape.store.record import Key, Page, Record

SELECTED_AT_ONCE: Final = 500
MAX_OBJECTS_ON_LOOP: Final = 1000
"""Number of objects that a list may read from the store on the event loop; longer lists are read in a thread."""
MAX_RENDERED_BYTES: Final = 3 * 1024 * 1024
"""Size of the objects of a JSON list that is rendered without leaving the event loop; other formats have less."""
YAML_COST: Final = 60
"""How many times as long YAML takes as JSON."""
_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter, or use the continue token in this response to retrieve "
    "the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that "
    "were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


class ListQuery(NamedTuple):
    """The objects that a list request selects: at most `limit` unless it is -1, at revision `at`, after a key."""

    resource: Resource
    namespace: str | None
    selection: Selection
    limit: int
    at: int | None
    after: Key | None

    @property
    def is_by_name(self) -> bool:
        """True if the query can only match the current state of one object, whose name is in the field selector."""
        has_key = self.namespace is not None or not self.resource.kind.namespaced
        return self.selection.name is not None and has_key and self.at is None and self.after is None


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

    If the list is large, return a function that reads or renders it in another thread. The function may raise
    StatusError and StoreError.
    """
    response_format = choose_format(request.headers.get("accept", ""))
    options = read_options(request, watch=False)
    resource = resource_of(route.kind)
    query = build_query(store, resource, route.namespace or None, options)

    def render(page: Page) -> Response:
        values = [resource.convert(record.value) for record in page.records]
        rest = get_continuation(page, query, route)
        body = render_list(resource, response_format, values, request, str(page.revision), *rest)
        return build_response(request, response_format, body)

    if _reads_many(store, query):
        return lambda: render(_get_page_of_snapshot(store, query))
    page = get_page(store, query)
    return partial(render, page) if _is_slow(page, response_format, request) else render(page)


def _reads_many(store: ObjectSource, query: ListQuery) -> bool:
    """Return True if a list may read more objects than the event loop should read at a time."""
    if query.is_by_name or (0 < query.limit <= MAX_OBJECTS_ON_LOOP and not query.selection.selects):
        return False
    return store.has_more_than(MAX_OBJECTS_ON_LOOP, query.resource.name, query.namespace)


def _is_slow(page: Page, response_format: ResponseFormat, request: Request) -> bool:
    """Return True if a list takes more than about 20 ms to render."""
    cost = YAML_COST if response_format.yaml else 1 if response_format.shape == "object" else 2
    if "gzip" in request.headers.get("accept-encoding", ""):
        cost += 2
    return sum(len(record.value) for record in page.records) * cost > MAX_RENDERED_BYTES


def get_continuation(page: Page, query: ListQuery, route: Route) -> tuple[str, int]:
    """Return the continue token after a page and the number of remaining objects (0 if a selector is used)."""
    if query.limit < 0 or not page.remaining:
        return "", 0
    continuation = format_continuation(page.revision, page.records[-1].key, namespaced=bool(route.namespace))
    return continuation, 0 if query.selection.selects else page.remaining


def require_revision_reached(store: ObjectSource, revision: int) -> None:
    """Raise StatusError if the store has not reached a revision."""
    if revision > store.newest:
        raise future_revision_error(FutureError(revision, store.newest))


def build_query(store: ObjectSource, resource: Resource, namespace: str | None, options: ListOptions) -> ListQuery:
    """Return the query for list options; raise StatusError if they are invalid or their revision is in the future."""
    selection = compile_selection(resource, options)
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
    return ListQuery(resource, namespace, selection, limit or -1, at, after)


def get_page(store: ObjectSource, query: ListQuery) -> Page:
    """Return one page of a list; raise StatusError if its revision is compacted or in the future."""
    with _revision_errors_as_status(query):
        if not query.is_by_name:
            return _select(store, query)
        record = store.get(query.resource.key(query.namespace or "", str(query.selection.name)))
        return Page([record] if record and query.selection.matches(record.value) else [], store.newest, 0)


def _get_page_of_snapshot(store: ObjectSource, query: ListQuery) -> Page:
    """Return one page of a list like `get_page`, in any thread."""
    with _revision_errors_as_status(query):
        return store.read_snapshot(partial(_select, query=query))


@contextlib.contextmanager
def _revision_errors_as_status(query: ListQuery) -> Iterator[None]:
    """Raise StatusError if a list fails because its revision is compacted or in the future."""
    try:
        yield
    except FutureError as error:
        raise future_revision_error(error) from None
    except CompactedError as error:
        if query.after is None:
            raise StatusError(410, "Expired", "The resourceVersion for the provided list is too old.") from None
        expired = StatusError(410, "Expired", _EXPIRED)
        expired.continuation = format_continuation(-1, query.after, namespaced=query.namespace is not None)
        raise expired from error


def _select(source: PageSource, query: ListQuery) -> Page:
    """Read one page; with a selector and a limit, read further objects until enough match."""
    name, namespace, selection, limit = query.resource.name, query.namespace, query.selection, query.limit
    if not selection.selects:
        return source.list(name, namespace, after=query.after, limit=limit, at=query.at)
    step = max(limit, SELECTED_AT_ONCE) if limit > 0 else -1
    page = source.list(name, namespace, after=query.after, limit=step, at=query.at)
    kept = _keep(page, selection)
    while len(kept) < limit and page.remaining:
        page = source.list(name, namespace, after=page.records[-1].key, limit=step, at=page.revision)
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
    return join_items(head, _without_type(values, resource), b"]}")


def _without_type(values: list[bytes], resource: Resource) -> list[bytes]:
    """Return list items without apiVersion and kind, as Kubernetes returns objects of built-in kinds."""
    if resource.custom:
        return values
    head = b'{"apiVersion":"%b","kind":"%b",' % (resource.kind.api_version.encode(), resource.kind.kind.encode())
    return [b"{" + value.removeprefix(head) if value.startswith(head) else value for value in values]

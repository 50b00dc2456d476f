"""Delete and deletecollection: remove objects, or mark them as deleting until their finalizers are removed."""

from typing import NamedTuple

from virtshape.api.codec import encode
from virtshape.api.meta import ListMeta
from virtshape.api.model import JsonObject
from virtshape.api.status import Status, StatusDetails
from virtshape.api.times import now
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.deleteoptions import DeleteOptions, read_delete_options
from virtshape.apiserver.encoding.negotiation import choose_format
from virtshape.apiserver.finalizers import decide_deletion
from virtshape.apiserver.listoptions import read_options
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.objectmetadata import encode_tree, make_write
from virtshape.apiserver.preconditions import conflict
from virtshape.apiserver.reading import build_query, get_continuation, get_page, not_found, render_list, render_object
from virtshape.apiserver.resource import Resource, read_tree, resource_of
from virtshape.apiserver.responses import build_response
from virtshape.apiserver.route import Route
from virtshape.apiserver.supportedverbs import returns_deleted
from virtshape.apiserver.writing import MAX_TRIES, WriteContext
from virtshape.store.errors import StaleError
from virtshape.store.record import Event, Key, Record


class _Outcome(NamedTuple):
    """The object to send to the client (if any), whether the object was removed, and warnings."""

    left: Record | None
    gone: bool
    warnings: list[str]


async def delete_object(context: WriteContext, request: Request, route: Route, user: User) -> Response:
    """Delete one object, or mark it as deleting if it has finalizers; raise StatusError 404 for a missing object."""
    options = read_delete_options(request.body, request.query, request.headers.get("content-type", ""))
    response_format = choose_format(request.headers.get("accept", ""))
    resource = resource_of(route.kind)
    key = resource.key(route.namespace, route.name)
    deleted = await _delete_latest(context, resource, route, user, options, key)
    if deleted is None:
        raise not_found(resource, route.name)
    record, outcome = deleted
    if outcome.left is None:
        tree = read_tree(record.value)
        return build_response(
            request, response_format, _success(route, tree["metadata"]["uid"]), warnings=outcome.warnings
        )
    status = 202 if options.orphan_dependents is False and not outcome.gone else 200
    body = render_object(resource, response_format, outcome.left, request)
    return build_response(request, response_format, body, status, outcome.warnings)


async def _delete_latest(
    context: WriteContext, resource: Resource, route: Route, user: User, options: DeleteOptions, key: Key
) -> tuple[Record, _Outcome] | None:
    """
    Delete the object at a key, and retry if it changes in the meantime.

    Return the object before the deletion and the outcome, or None if the object does not exist.
    """
    for _ in range(MAX_TRIES):
        record = context.store.get(key)
        if record is None:
            return None
        try:
            return record, await _delete(context, resource, route, user, options, record)
        except StaleError:
            continue
    raise conflict(resource, key.name)


async def _delete(
    context: WriteContext, resource: Resource, route: Route, user: User, options: DeleteOptions, record: Record
) -> _Outcome:
    """Delete the object or mark it as deleting; raise StaleError if the object is no longer at this revision."""
    old = read_tree(record.value)
    deletion = decide_deletion(old, options, route.kind, now())
    dry_run = bool(options.dry_run)
    _, warnings = await context.admission.admit("DELETE", route, user, None, old, dry_run=dry_run)
    if not deletion.gone and deletion.tree is old:
        return _Outcome(record, gone=False, warnings=warnings)
    shown = not deletion.gone or returns_deleted(route.kind)
    stored: JsonObject = {**deletion.tree, "apiVersion": resource.stored.api_version}
    if dry_run:
        left = Record(record.key, record.revision, encode_tree(stored)) if shown else None
        return _Outcome(left, deletion.gone, warnings)
    event = await context.store.write(
        make_write(record.key, record.revision, stored, removes=deletion.gone, largest=None)
    )
    left = Record(record.key, event.revision, event.value) if shown else None
    return _Outcome(left, deletion.gone, warnings)


def _success(route: Route, uid: str) -> bytes:
    details = StatusDetails(name=route.name, group=route.kind.group or None, kind=route.kind.plural, uid=uid)
    return encode(Status(api_version="v1", kind="Status", metadata=ListMeta(), status="Success", details=details))


async def delete_collection(context: WriteContext, request: Request, route: Route, user: User) -> Response:
    """Delete the objects that match the list options in one commit; retry objects that change in the meantime."""
    options = read_delete_options(request.body, request.query, request.headers.get("content-type", ""))
    response_format = choose_format(request.headers.get("accept", ""))
    resource = resource_of(route.kind)
    query = build_query(context.store, resource, route.namespace or None, read_options(request, watch=False))
    page = get_page(context.store, query)
    warnings = await _delete_all(context, resource, route, user, options, page.records)
    values = [resource.convert(record.value) for record in page.records]
    rest = get_continuation(page, query, route)
    body = render_list(resource, response_format, values, request, str(page.revision), *rest)
    return build_response(request, response_format, body, warnings=warnings)


async def _delete_all(
    context: WriteContext, resource: Resource, route: Route, user: User, options: DeleteOptions, records: list[Record]
) -> list[str]:
    """Delete these objects, unless the request is a dry run; return warnings."""
    writes, warnings, dry_run = [], [], bool(options.dry_run)
    for record in records:
        old = read_tree(record.value)
        deletion = decide_deletion(old, options, route.kind, now())
        _, more = await context.admission.admit("DELETE", route, user, None, old, dry_run=dry_run)
        warnings += more
        if not dry_run and (deletion.gone or deletion.tree is not old):
            stored = {**deletion.tree, "apiVersion": resource.stored.api_version}
            writes.append(make_write(record.key, record.revision, stored, removes=deletion.gone, largest=None))
    outcomes = await context.store.write_all(writes) if writes else []
    for write, outcome in zip(writes, outcomes, strict=True):
        if not isinstance(outcome, Event):
            await _delete_latest(context, resource, route, user, options, write.key)
    return warnings

"""
The steps that all writes share: change, validate, admit and store, with retries on conflict.

A write that changes nothing returns the object without storing it.
"""

from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.metadata import (
    allows_blind_update,
    check_created,
    check_updated,
    drop_repeated_owners,
    find_finalizer_warnings,
)
from virtshape.api.validation.violation import invalid_error, invalid_object_error, invalid_value
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.deleteoptions import is_finished
from virtshape.apiserver.encoding.negotiation import choose_format
from virtshape.apiserver.limits import MAX_OBJECT_BYTES
from virtshape.apiserver.listoptions import find_revision_problem
from virtshape.apiserver.managedfields.fieldtypes import object_type
from virtshape.apiserver.managedfields.managedfields import Write as Authorship
from virtshape.apiserver.managedfields.managedfields import keep_times, record_update
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.objects import assemble, encode_tree, make_write, metadata_of, replace, update_generation
from virtshape.apiserver.prepare import prepare_for_create, prepare_for_update
from virtshape.apiserver.reading import not_found, render_object
from virtshape.apiserver.resource import Resource, read_tree, resource_of
from virtshape.apiserver.responses import build_response
from virtshape.apiserver.route import Route
from virtshape.apiserver.writeoptions import WriteOptions
from virtshape.store.errors import StaleError
from virtshape.store.record import Record
from virtshape.store.store import Store

MAX_TRIES: Final = 8

Changer = Callable[[JsonObject, Record], JsonObject]
"""Returns the object that the client wants, given the current one; the same tree if nothing changes."""
Claim = Callable[[JsonObject], list[JsonObject]]
"""Returns the managedFields of a new object."""


class Admission(Protocol):
    """An admission step: completes or rejects objects before they are stored."""

    async def admit(
        self, operation: str, route: Route, user: User, new: JsonObject | None, old: JsonObject | None, *, dry_run: bool
    ) -> tuple[JsonObject | None, list[str]]:
        """Return the object to store and warnings for the client; raise StatusError to reject it."""


class WriteContext(Struct):
    """The store and the admission chain that writes use."""

    store: Store
    admission: Admission


def authorship_of(route: Route, options: WriteOptions) -> Authorship:
    """Return the manager, version, time and subresource of a write for managedFields."""
    subresource = route.subresource if route.subresource == "status" else ""
    return Authorship(options.manager, route.kind.api_version, options.now, subresource)


async def store_new(
    context: WriteContext, route: Route, user: User, new: JsonObject, options: WriteOptions, claim: Claim
) -> tuple[Record | None, list[str]]:
    """Validate and store a new object; return its record, or None if the name exists, and warnings."""
    resource = resource_of(route.kind)
    if resource.custom and resource.has_status:
        new = {field: value for field, value in new.items() if field != "status"}
    name = new["metadata"].get("name") or ""
    warnings = drop_repeated_owners(new["metadata"])
    causes = check_created(new["metadata"], route.kind)
    if causes:
        raise invalid_object_error(route.kind, name, causes)
    key = resource.key(route.namespace, name)
    if options.dry_run and context.store.get(key) is not None:
        return None, []
    warnings += find_finalizer_warnings(new["metadata"], {}, route.kind)
    sent = new
    admitted, more = await context.admission.admit("CREATE", route, user, new, None, dry_run=options.dry_run)
    new = admitted if admitted is not None else new
    new = _with_managed_fields(new, claim(sent if resource.custom else new))
    stored = {**prepare_for_create(route.kind, new), "apiVersion": resource.stored.api_version}
    write = make_write(key, 0, stored)
    if options.dry_run:
        return Record(key, 0, encode_tree(stored)), warnings + more
    try:
        event = await context.store.write(write)
    except StaleError:
        return None, []
    return Record(key, event.revision, event.value), warnings + more


def _with_managed_fields(tree: JsonObject, entries: list[JsonObject]) -> JsonObject:
    return assemble(tree, {**tree["metadata"], "managedFields": entries or None})


async def change_object(
    context: WriteContext,
    request: Request,
    route: Route,
    user: User,
    options: WriteOptions,
    change: Changer,
    warnings: list[str],
    *,
    retries: bool,
    applying: bool = False,
) -> Response:
    """Read, change, validate and store an object; on a conflict, retry if `retries` is set."""
    response_format = choose_format(request.headers.get("accept", ""))
    resource = resource_of(route.kind)
    key = resource.key(route.namespace, route.name)
    for _ in range(MAX_TRIES):
        record = context.store.get(key)
        if record is None:
            raise not_found(resource, route.name)
        try:
            written, more = await _try_change(context, route, user, options, change, record, applying=applying)
        except StaleError:
            if not retries:
                break
            continue
        except StatusError as error:
            error.warnings = (*warnings, *error.warnings)
            raise
        return build_response(
            request, response_format, render_object(resource, response_format, written, request), 200, warnings + more
        )
    raise conflict(resource, route.name)


async def _try_change(
    context: WriteContext,
    route: Route,
    user: User,
    options: WriteOptions,
    change: Changer,
    record: Record,
    *,
    applying: bool,
) -> tuple[Record, list[str]]:
    resource = resource_of(route.kind)
    old = read_tree(resource.convert(record.value))
    wanted = change(old, record)
    if wanted is old:
        return record, []
    new = prepare_for_update(route.kind, replace(resource, old, wanted, route.subresource), old, route.subresource)
    warnings: list[str] = []
    if not route.subresource:
        warnings = drop_repeated_owners(new["metadata"])
        causes = check_updated(new["metadata"], old["metadata"], route.kind)
        if causes:
            raise invalid_object_error(route.kind, route.name, causes)
        warnings += find_finalizer_warnings(new["metadata"], old["metadata"], route.kind)
    sent = new
    admitted, more = await context.admission.admit("UPDATE", route, user, new, old, dry_run=options.dry_run)
    if admitted is not None and admitted is not sent:
        new = update_generation(resource, old, admitted, route.subresource)
    stated = metadata_of(wanted).get("managedFields")
    if applying or (stated == [] and not resource.custom):  # an empty list for a built-in kind resets managedFields
        entries = stated or []
    else:
        claimed = sent if resource.custom else new  # managedFields of a custom resource exclude what admission adds
        entries = record_update(old, claimed, authorship_of(route, options), object_type(route.kind))
    new = _with_managed_fields(new, entries)
    keep_times(old, new)
    if new == old:
        return record, warnings + more
    return await _store_changed(context, resource, record, old, new, dry_run=options.dry_run), warnings + more


async def _store_changed(
    context: WriteContext, resource: Resource, record: Record, old: JsonObject, new: JsonObject, *, dry_run: bool
) -> Record:
    version = {"apiVersion": resource.stored.api_version}
    finished = is_finished(new, resource.kind)
    # Watches get the object as it was before its last finalizer was removed; the writer gets the new object.
    stored = {**(old if finished else new), **version}
    # An object that was stored before the limit existed may change, but not grow.
    largest = max(MAX_OBJECT_BYTES, len(record.value))
    write = make_write(record.key, record.revision, stored, removes=finished, largest=largest)
    if not dry_run:
        event = await context.store.write(write)
        if not finished:
            return Record(record.key, event.revision, event.value)
    return Record(record.key, record.revision, encode_tree({**new, **version}))


def validate_resource_version(stated: str, record: Record, resource: Resource) -> None:
    """Raise StatusError if a resourceVersion is not current; an empty or zero one is accepted if the kind allows it."""
    if stated == str(record.revision):
        return
    if problem := find_revision_problem(stated):
        raise StatusError(500, "", problem)
    if int(stated or 0):
        raise conflict(resource, record.key.name)
    kind = resource.kind
    if not allows_blind_update(kind):
        cause = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid_error(kind.group, kind.plural, record.key.name, [cause])


def conflict(resource: Resource, name: str, reason: str = "") -> StatusError:
    """Return the 409 error for an object that has changed or was replaced."""
    reason = reason or "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {resource.name} "{name}": {reason}'
    return StatusError(409, "Conflict", message).about(resource.kind.group, resource.kind.plural, name)

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
    check_created,
    check_updated,
    drop_repeated_owners,
    find_finalizer_warnings,
)
from virtshape.api.validation.violation import invalid_object_error
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.coredefaults import prepare_for_create, prepare_for_update
from virtshape.apiserver.encoding.negotiation import choose_format
from virtshape.apiserver.finalizers import is_finished
from virtshape.apiserver.limits import MAX_OBJECT_BYTES
from virtshape.apiserver.managedfields.fieldtypes import object_type
from virtshape.apiserver.managedfields.managedfields import FieldManager, keep_times, record_update
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.objectmetadata import (
    assemble,
    encode_tree,
    make_write,
    metadata_of,
    replace,
    update_generation,
)
from virtshape.apiserver.preconditions import conflict
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
"""Returns the object that the client wants, given the current object; returns the same dict if nothing changes."""
Claim = Callable[[JsonObject], list[JsonObject]]
"""Returns the managedFields of a new object."""


class Admission(Protocol):
    """An admission step, which completes or rejects objects before they are stored."""

    async def admit(
        self, operation: str, route: Route, user: User, new: JsonObject | None, old: JsonObject | None, *, dry_run: bool
    ) -> tuple[JsonObject | None, list[str]]:
        """Return the object to store and warnings for the client; raise StatusError to reject the object."""


class WriteContext(Struct):
    """The store and the admission chain for write requests."""

    store: Store
    admission: Admission


def field_manager_of(route: Route, options: WriteOptions) -> FieldManager:
    """Return the manager, version, time and subresource of a write for managedFields."""
    subresource = route.subresource if route.subresource == "status" else ""
    return FieldManager(options.manager, route.kind.api_version, options.now, subresource)


async def store_new(
    context: WriteContext, route: Route, user: User, new: JsonObject, options: WriteOptions, claim: Claim
) -> tuple[Record | None, list[str]]:
    """
    Validate a new object and store it, unless this is a dry run; return its record and warnings.

    The record is None if the name is taken. Raise StatusError if the object is invalid or not admitted.
    """
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
    """Read, change, validate and store an object, and return the response; on a conflict, retry if `retries` is set."""
    response_format = choose_format(request.headers.get("accept", ""))
    resource = resource_of(route.kind)
    key = resource.key(route.namespace, route.name)
    for _ in range(MAX_TRIES):
        record = context.store.get(key)
        if record is None:
            raise not_found(resource, route.name)
        try:
            written, more = await _try_change(context, route, user, options, change, record, applying=applying)
        except StaleError as error:
            if not error.actual:  # deleted in the meantime
                raise not_found(resource, route.name) from None
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
        # For a custom resource, managedFields exclude the fields that admission adds.
        claimed = sent if resource.custom else new
        entries = record_update(old, claimed, field_manager_of(route, options), object_type(route.kind))
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
    # An object that already exceeds the limit may be changed, but must not grow.
    largest = max(MAX_OBJECT_BYTES, len(record.value))
    write = make_write(record.key, record.revision, stored, removes=finished, largest=largest)
    if not dry_run:
        event = await context.store.write(write)
        if not finished:
            return Record(record.key, event.revision, event.value)
    return Record(record.key, record.revision, encode_tree({**new, **version}))

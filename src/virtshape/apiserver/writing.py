"""
Create, update and patch: what a client sends becomes an object, is checked as a whole, and stored if nobody was faster.

A write that changes nothing is answered and not made.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

from virtshape.api.kinds import Kind
from virtshape.api.status import Cause, StatusError
from virtshape.api.yaml import read_documents
from virtshape.apiserver.answers import answer_bytes
from virtshape.apiserver.authentication import User
from virtshape.apiserver.deletion import is_finished
from virtshape.apiserver.fieldtypes import object_type
from virtshape.apiserver.jsonpatch import patch_json
from virtshape.apiserver.managedfields import Write as Authorship
from virtshape.apiserver.managedfields import keep_times, name_manager, record_update
from virtshape.apiserver.mergepatch import patch_merge
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.metadata import allows_blind_update, check_address, check_created, check_updated
from virtshape.apiserver.moment import now
from virtshape.apiserver.names import generate_name
from virtshape.apiserver.negotiation import choose_form, media_type
from virtshape.apiserver.objects import Tree, assemble, begin, encode_tree, make_write, metadata_of, replace
from virtshape.apiserver.reading import not_found, render_object
from virtshape.apiserver.resource import Resource, read_tree, resource_of
from virtshape.apiserver.route import Route
from virtshape.apiserver.ssa import apply, check_apply_body
from virtshape.apiserver.strategic import patch_strategic
from virtshape.apiserver.strictness import admit_fields
from virtshape.apiserver.violation import refuse_invalid
from virtshape.store.errors import StaleError
from virtshape.store.record import Record
from virtshape.store.store import Store

MOST_TRIES: Final = 8
MOST_NAME_TRIES: Final = 8
JSON_PATCH, MERGE_PATCH = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC_PATCH, APPLY_PATCH = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
_TRUE: Final = frozenset({"1", "true", "t", "True", "TRUE", "T"})


class Admission(Protocol):
    """What else has a say: completes and refuses objects before they are stored."""

    async def admit(
        self, operation: str, route: Route, user: User, new: Tree | None, old: Tree | None, *, dry_run: bool
    ) -> tuple[Tree | None, list[str]]:
        """The object to store, and warnings for the client; raises StatusError to refuse."""


class Desk(Struct):
    """What writing needs: the store and who has a say."""

    store: Store
    admission: Admission


class WriteOptions(Struct):
    """The parameters of a write."""

    manager: str
    dry_run: bool
    validation: str
    force: bool
    now: str


def read_write_options(request: Request, kind: str) -> WriteOptions:
    """The parameters of a write; `kind` is what messages call them."""
    causes: list[Cause] = []
    dry_run = request.query.get("dryRun", [])
    if any(value != "All" for value in dry_run):
        shown = msgspec.json.encode(dry_run).decode()
        causes.append(Cause("FieldValueNotSupported", f'Unsupported value: {shown}: supported values: "All"', "dryRun"))
    manager = request.parameter("fieldManager")
    if len(manager.encode()) > 128:
        causes.append(Cause("FieldValueTooLong", "Too long: may not be more than 128 bytes", "fieldManager"))
    elif not manager.isprintable():
        words = f"Invalid value: {msgspec.json.encode(manager).decode()}: should only contain printable characters"
        causes.append(Cause("FieldValueInvalid", words, "fieldManager"))
    validation = request.parameter("fieldValidation", "Warn") or "Warn"
    if validation not in ("Ignore", "Warn", "Strict"):
        words = f'Unsupported value: "{validation}": supported values: "", "Ignore", "Strict", "Warn"'
        causes.append(Cause("FieldValueNotSupported", words, "fieldValidation"))
    is_apply = media_type(request.headers.get("content-type", "")) == APPLY_PATCH
    if kind == "PatchOptions":
        if is_apply and not manager:
            causes.append(Cause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager"))
        if not is_apply and request.parameter("force"):
            words = "Forbidden: may not be specified for non-apply patch"
            causes.append(Cause("FieldValueForbidden", words, "force"))
    if causes:
        words = ", ".join(f"{cause.field}: {cause.message}" for cause in causes)
        message = f'{kind}.meta.k8s.io "" is invalid: {words if len(causes) == 1 else f"[{words}]"}'
        raise StatusError(422, "Invalid", message, causes).about("meta.k8s.io", kind)
    return WriteOptions(
        manager=name_manager(manager, request.headers.get("user-agent", "")),
        dry_run=bool(dry_run),
        validation=validation,
        force=request.parameter("force") in _TRUE,
        now=now(),
    )


async def create_object(desk: Desk, request: Request, route: Route, user: User) -> Response:
    """Store a new object."""
    options = read_write_options(request, "CreateOptions")
    form = choose_form(request.headers.get("accept", ""))
    resource = resource_of(route.kind)
    body, warnings = read_object(request, route.kind, options.validation)
    sent = metadata_of(body)
    if route.name and not sent.get("name"):
        sent = {**sent, "name": route.name}
    check_address(sent, name=route.name, namespace=route.namespace)
    if sent.get("resourceVersion"):
        raise StatusError(400, "BadRequest", "resourceVersion should not be set on objects to be created")
    for _ in range(MOST_NAME_TRIES):
        name = sent.get("name") or (generate_name(sent["generateName"]) if sent.get("generateName") else "")
        new = begin(resource, {**body, "metadata": sent}, route.namespace, name, options.now)
        if resource.has_status and resource.custom:
            new.pop("status", None)
        record, more = await _store_new(desk, resource, route, user, new, options)
        if record is not None:
            body_bytes = render_object(resource, form, record, request)
            return answer_bytes(request, form, body_bytes, 201, warnings + more)
        if sent.get("name"):
            break
    error = StatusError(409, "AlreadyExists", f'{resource.name} "{name}" already exists')
    raise error.about(route.kind.group, route.kind.plural, name)


async def _store_new(
    desk: Desk, resource: Resource, route: Route, user: User, new: Tree, options: WriteOptions
) -> tuple[Record | None, list[str]]:
    name = new["metadata"]["name"]
    causes = check_created(new["metadata"], route.kind)
    if causes:
        raise refuse_invalid(route.kind.group, route.kind.kind, name, causes)
    key = resource.key(route.namespace, name)
    if options.dry_run and desk.store.get(key) is not None:
        return None, []
    admitted, warnings = await desk.admission.admit("CREATE", route, user, new, None, dry_run=options.dry_run)
    new = admitted if admitted is not None else new
    authorship = Authorship(options.manager, route.kind.api_version, options.now)
    if "managedFields" not in new["metadata"] or new["metadata"]["managedFields"]:
        new = _with_managed_fields(new, record_update(None, new, authorship, object_type(route.kind)))
    stored = {**new, "apiVersion": resource.stored.api_version}
    if options.dry_run:
        return Record(key, 0, encode_tree(stored)), warnings
    try:
        event = await desk.store.write(make_write(key, 0, stored))
    except StaleError:
        return None, []
    return Record(key, event.revision, event.value), warnings


def _with_managed_fields(tree: Tree, entries: list[Tree]) -> Tree:
    return assemble(tree, {**tree["metadata"], "managedFields": entries or None})


async def update_object(desk: Desk, request: Request, route: Route, user: User) -> Response:
    """Replace an object, or its status."""
    if not route.name:
        raise StatusError(400, "BadRequest", "name must be provided")
    options = read_write_options(request, "UpdateOptions")
    body, warnings = read_object(request, route.kind, options.validation)
    check_address(metadata_of(body), name=route.name, namespace=route.namespace)
    stated = metadata_of(body).get("resourceVersion") or ""

    def change(_: Tree, record: Record) -> Tree:
        if stated and stated != str(record.revision):
            raise conflict(resource_of(route.kind), route.name)
        if not stated and not allows_blind_update(route.kind):
            words = "Invalid value: 0x0: must be specified for an update"
            cause = Cause("FieldValueInvalid", words, "metadata.resourceVersion")
            raise refuse_invalid(route.kind.group, route.kind.kind, route.name, [cause])
        return body

    return await _change_object(desk, request, route, user, options, change, warnings, retries=not stated)


async def patch_object(desk: Desk, request: Request, route: Route, user: User) -> Response:
    """Change an object as a patch says, or apply a part of one."""
    if not route.name:
        raise StatusError(400, "BadRequest", "name must be provided")
    media = media_type(request.headers.get("content-type", ""))
    resource = resource_of(route.kind)
    accepted = [JSON_PATCH, MERGE_PATCH, *([] if resource.custom else [STRATEGIC_PATCH]), APPLY_PATCH]
    if media not in accepted:
        words = (
            f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
        )
        raise StatusError(415, "UnsupportedMediaType", words)
    options = read_write_options(request, "PatchOptions")
    if media == APPLY_PATCH:
        return await _apply_object(desk, request, route, user, options)
    patch = _read_json(request.body)
    warnings: list[str] = []

    def change(old: Tree, record: Record) -> Tree:
        if media == JSON_PATCH:
            patched = patch_json(old, patch)
        elif media == MERGE_PATCH:
            patched = patch_merge(old, patch)
        else:
            patched = patch_strategic(old, patch, route.kind.struct)
        if patched is old:
            return old
        admitted, found = admit_fields(patched, None, route.kind, options.validation, patching=True)
        warnings[:] = found
        stated = metadata_of(admitted)
        check_address(stated, name=route.name, namespace=route.namespace)
        if stated.get("resourceVersion") not in (None, "", str(record.revision)):
            raise conflict(resource, route.name)
        return admitted

    return await _change_object(desk, request, route, user, options, change, warnings, retries=True)


async def _apply_object(desk: Desk, request: Request, route: Route, user: User, options: WriteOptions) -> Response:
    applied = read_yaml(request.body)
    check_apply_body(applied, route.kind)
    check_address(metadata_of(applied), name=route.name, namespace=route.namespace)
    resource = resource_of(route.kind)
    authorship = Authorship(options.manager, route.kind.api_version, options.now, route.subresource)
    kind = object_type(route.kind)
    stated = metadata_of(applied).get("resourceVersion") or ""
    if desk.store.get(resource.key(route.namespace, route.name)) is None:
        if route.subresource:
            raise not_found(resource, route.name)
        new = apply(None, applied, authorship, kind, force=options.force)
        admitted, warnings = admit_fields(new, None, route.kind, "Ignore", patching=True)
        entries = metadata_of(new).get("managedFields")
        fresh = begin(resource, admitted, route.namespace, route.name, options.now)
        fresh["metadata"]["managedFields"] = entries
        return await _create_applied(desk, request, route, user, fresh, options, warnings)

    def change(old: Tree, record: Record) -> Tree:
        if stated and stated != str(record.revision):
            raise conflict(resource, route.name)
        merged = apply(old, applied, authorship, kind, force=options.force)
        admitted, _ = admit_fields(merged, None, route.kind, "Ignore", patching=True)
        return admitted

    return await _change_object(desk, request, route, user, options, change, [], retries=True, applying=True)


async def _create_applied(
    desk: Desk, request: Request, route: Route, user: User, new: Tree, options: WriteOptions, warnings: list[str]
) -> Response:
    form = choose_form(request.headers.get("accept", ""))
    resource = resource_of(route.kind)
    if resource.has_status and resource.custom:
        new.pop("status", None)
    causes = check_created(new["metadata"], route.kind)
    if causes:
        raise refuse_invalid(route.kind.group, route.kind.kind, route.name, causes)
    admitted, more = await desk.admission.admit("CREATE", route, user, new, None, dry_run=options.dry_run)
    stored = {**(admitted or new), "apiVersion": resource.stored.api_version}
    key = resource.key(route.namespace, route.name)
    if options.dry_run:
        record = Record(key, 0, encode_tree(stored))
    else:
        try:
            event = await desk.store.write(make_write(key, 0, stored))
        except StaleError:
            raise conflict(resource, route.name) from None
        record = Record(key, event.revision, event.value)
    return answer_bytes(request, form, render_object(resource, form, record, request), 201, warnings + more)


Changer = Callable[[Tree, Record], Tree]


async def _change_object(
    desk: Desk,
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
    """Read, change, check and store an object; again, if somebody else was faster and the change does not mind."""
    form = choose_form(request.headers.get("accept", ""))
    resource = resource_of(route.kind)
    key = resource.key(route.namespace, route.name)
    for _ in range(MOST_TRIES):
        record = desk.store.get(key)
        if record is None:
            raise not_found(resource, route.name)
        try:
            written, more = await _try_change(desk, route, user, options, change, record, applying=applying)
        except StaleError:
            if not retries:
                break
            continue
        return answer_bytes(request, form, render_object(resource, form, written, request), 200, warnings + more)
    raise conflict(resource, route.name)


async def _try_change(
    desk: Desk, route: Route, user: User, options: WriteOptions, change: Changer, record: Record, *, applying: bool
) -> tuple[Record, list[str]]:
    resource = resource_of(route.kind)
    old = read_tree(resource.outward(record.value))
    wanted = change(old, record)
    if wanted is old:
        return record, []
    new = replace(resource, old, wanted, route.subresource)
    if not route.subresource:
        causes = check_updated(new["metadata"], old["metadata"], route.kind)
        if causes:
            raise refuse_invalid(route.kind.group, route.kind.kind, route.name, causes)
    admitted, warnings = await desk.admission.admit("UPDATE", route, user, new, old, dry_run=options.dry_run)
    new = admitted if admitted is not None else new
    if applying:
        new = _with_managed_fields(new, metadata_of(wanted).get("managedFields") or [])
    else:
        authorship = Authorship(options.manager, route.kind.api_version, options.now, route.subresource)
        new = _with_managed_fields(new, record_update(old, new, authorship, object_type(route.kind)))
    keep_times(old, new)
    if new == old:
        return record, warnings
    removes = is_finished(new, route.kind)
    stored = {**new, "apiVersion": resource.stored.api_version}
    if options.dry_run:
        return Record(record.key, record.revision, encode_tree(stored)), warnings
    event = await desk.store.write(make_write(record.key, record.revision, stored, removes=removes))
    if removes:  # the object is gone; the client sees it as it last was
        return Record(record.key, record.revision, encode_tree(stored)), warnings
    return Record(record.key, event.revision, event.value), warnings


def conflict(resource: Resource, name: str) -> StatusError:
    """Somebody else has changed the object since."""
    words = (
        f'Operation cannot be fulfilled on {resource.name} "{name}": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    return StatusError(409, "Conflict", words).about(resource.kind.group, resource.kind.plural, name)


def read_object(request: Request, kind: Kind, validation: str) -> tuple[Tree, list[str]]:
    """The object in a request's body, and what its author should know."""
    media = media_type(request.headers.get("content-type", "")) or "application/json"
    if media == "application/json":
        tree = _read_json(request.body)
        text: bytes | None = request.body
    elif media == "application/yaml":
        tree, text = read_yaml(request.body), None
    else:
        accepted = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        words = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
        raise StatusError(415, "UnsupportedMediaType", words)
    if not isinstance(tree, dict):
        raise StatusError(400, "BadRequest", "the body of the request is not an object")
    return admit_fields(tree, text, kind, validation)


def _read_json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StatusError(400, "BadRequest", f"couldn't get version/kind; json parse error: {error}") from None


def read_yaml(body: bytes) -> Tree:
    """The one object of a YAML body."""
    documents = read_documents(body, "body")
    if len(documents) != 1 or not isinstance(documents[0].tree, dict):
        raise StatusError(400, "BadRequest", "error decoding patch: expected one object")
    tree: Tree = documents[0].tree
    return tree

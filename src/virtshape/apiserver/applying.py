"""Server-side apply: merge the applied configuration into the object, or create the object from it."""

import msgspec

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.metadata import validate_address
from virtshape.api.validation.violation import invalid_object_error, invalid_value
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.bodies import read_yaml
from virtshape.apiserver.encoding.negotiation import choose_format
from virtshape.apiserver.managedfields.fieldtypes import object_type
from virtshape.apiserver.managedfields.serversideapply import apply, validate_apply_body
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.objectmetadata import initialize_object, metadata_of
from virtshape.apiserver.preconditions import conflict
from virtshape.apiserver.reading import not_found, render_object
from virtshape.apiserver.resource import resource_of
from virtshape.apiserver.responses import build_response
from virtshape.apiserver.route import Route
from virtshape.apiserver.validation.strictness import admit_fields, find_duplicates, limit_warnings, validate_part
from virtshape.apiserver.writeoptions import WriteOptions
from virtshape.apiserver.writing import WriteContext, change_object, field_manager_of, store_new
from virtshape.store.record import Record


async def apply_object(
    context: WriteContext, request: Request, route: Route, user: User, options: WriteOptions
) -> Response:
    """Apply the object in the request body, or create it if it does not exist; return the response."""
    applied, warnings = _read_applied(request.body, options.validation)
    _validate_head(applied)
    validate_apply_body(applied, route.kind)
    resource = resource_of(route.kind)
    is_new = context.store.get(resource.key(route.namespace, route.name)) is None
    sent = metadata_of(applied)
    validate_address(sent, name=route.name if is_new or sent.get("name") else "", namespace=route.namespace)
    validate_part(applied, route.kind)
    if is_new:
        created = await _create(context, request, route, user, applied, options, warnings)
        if created is not None:
            return created
    stated, uid = sent.get("resourceVersion") or "", sent.get("uid") or ""
    manager = field_manager_of(route, options)

    def change(old: JsonObject, record: Record) -> JsonObject:
        if stated and stated != str(record.revision):
            raise conflict(resource, route.name)
        if uid and uid != old["metadata"]["uid"]:
            cause = invalid_value("metadata.uid", uid, "field is immutable")
            raise invalid_object_error(route.kind, route.name, [cause])
        merged = apply(old, applied, manager, object_type(route.kind), force=options.force)
        admitted, _ = admit_fields(merged, None, route.kind, "Ignore", patching=True)
        return admitted

    return await change_object(context, request, route, user, options, change, warnings, retries=True, applying=True)


async def _create(
    context: WriteContext,
    request: Request,
    route: Route,
    user: User,
    applied: JsonObject,
    options: WriteOptions,
    warnings: list[str],
) -> Response | None:
    """Create the object from an apply request; return None if another request created it first."""
    response_format = choose_format(request.headers.get("accept", ""))
    resource = resource_of(route.kind)
    if route.subresource:
        raise not_found(resource, route.name)
    if uid := metadata_of(applied).get("uid"):
        message = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(resource, route.name, message)
    made = apply(None, applied, field_manager_of(route, options), object_type(route.kind), force=options.force)
    entries = metadata_of(made).get("managedFields") or []
    admitted, _ = admit_fields(made, None, route.kind, "Ignore", patching=True)
    new = initialize_object(resource, admitted, route.namespace, route.name, options.now)
    record, more = await store_new(context, route, user, new, options, lambda _: entries)
    if record is None:
        return None
    return build_response(
        request, response_format, render_object(resource, response_format, record, request), 201, warnings + more
    )


def _read_applied(body: bytes, validation: str) -> tuple[JsonObject, list[str]]:
    """Return the object in a body, and warnings about duplicate keys; strict validation rejects such keys."""
    try:
        tree = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return read_yaml(body), []
    if not isinstance(tree, dict):
        return read_yaml(body), []
    repeated = [] if validation == "Ignore" else find_duplicates(body, tree)
    if not repeated:
        return tree, []
    message = "; ".join(f'key "{path}" already set in map' for path in repeated)
    if validation == "Strict":
        raise StatusError(400, "BadRequest", f"error strict decoding YAML: {message}")
    return tree, limit_warnings([message])


def _validate_head(applied: JsonObject) -> None:
    """Raise StatusError if apiVersion, kind or metadata has the wrong type."""
    for field, wanted in (("apiVersion", str), ("kind", str), ("metadata", dict)):
        if not isinstance(applied.get(field), wanted | None):
            raise StatusError(400, "BadRequest", f"error decoding patch: {field} has the wrong type")

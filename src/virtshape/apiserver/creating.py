"""Create: store the object in a request body, under its name or a generated name."""

import re
from typing import Final

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.metadata import validate_address
from virtshape.api.validation.names import generate_name
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.bodies import read_object
from virtshape.apiserver.encoding.negotiation import choose_format
from virtshape.apiserver.managedfields.fieldtypes import object_type
from virtshape.apiserver.managedfields.managedfields import record_update
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.objectmetadata import initialize_object, metadata_of
from virtshape.apiserver.reading import render_object
from virtshape.apiserver.resource import resource_of
from virtshape.apiserver.responses import build_response
from virtshape.apiserver.route import Route
from virtshape.apiserver.writeoptions import read_write_options
from virtshape.apiserver.writing import WriteContext, field_manager_of, store_new

MAX_NAME_TRIES: Final = 8
_MOMENT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
)


async def create_object(context: WriteContext, request: Request, route: Route, user: User) -> Response:
    """
    Create the object in the request body and return the response; if a generated name is taken, try another one.

    Raise StatusError 409 if the name is taken.
    """
    options = read_write_options(request, "CreateOptions")
    response_format = choose_format(request.headers.get("accept", ""))
    resource = resource_of(route.kind)
    body, warnings = read_object(request, route.kind, options.validation, creating=True)
    sent = _address(body, route)
    manager = field_manager_of(route, options)

    def claim(new: JsonObject) -> list[JsonObject]:
        return record_update(None, new, manager, object_type(route.kind))

    name = sent.get("name") or ""
    for _ in range(1 if name else MAX_NAME_TRIES):
        name = sent.get("name") or (generate_name(sent["generateName"]) if sent.get("generateName") else "")
        new = initialize_object(resource, {**body, "metadata": sent}, route.namespace, name, options.now)
        try:
            record, more = await store_new(context, route, user, new, options, claim)
        except StatusError as refusal:
            refusal.warnings = (*warnings, *refusal.warnings)
            raise
        if record is not None:
            return build_response(
                request,
                response_format,
                render_object(resource, response_format, record, request),
                201,
                warnings + more,
            )
    error = StatusError(409, "AlreadyExists", f'{resource.name} "{name}" already exists')
    error.warnings = tuple(warnings)
    raise error.about(route.kind.group, route.kind.plural, name)


def _address(body: JsonObject, route: Route) -> JsonObject:
    """Return the metadata in the body; raise StatusError if the metadata is invalid or does not match the path."""
    sent = metadata_of(body)
    validate_address(sent, namespace=route.namespace)
    if sent.get("resourceVersion"):
        raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
    created = sent.get("creationTimestamp")
    if created is not None and not _MOMENT.fullmatch(created):
        head = f'{route.kind.kind} in version "{route.kind.version}" cannot be handled as a {route.kind.kind}'
        raise StatusError(400, "BadRequest", f'{head}: parsing time "{created}": cannot parse it')
    return sent

"""Update: replace an object or a subresource; if the body contains a resourceVersion, it must be the current one."""

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.metadata import validate_address
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.bodies import read_object
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.objectmetadata import metadata_of
from virtshape.apiserver.preconditions import validate_preconditions
from virtshape.apiserver.route import Route
from virtshape.apiserver.writeoptions import read_write_options
from virtshape.apiserver.writing import WriteContext, change_object
from virtshape.store.record import Record


async def update_object(context: WriteContext, request: Request, route: Route, user: User) -> Response:
    """Replace an object, or only its status or another subresource; return the response."""
    if not route.name:
        raise StatusError(400, "BadRequest", "name must be provided")
    options = read_write_options(request, "UpdateOptions")
    body, warnings = read_object(request, route.kind, options.validation)
    sent = metadata_of(body)
    validate_address(sent, name=route.name, namespace=route.namespace)
    stated = sent.get("resourceVersion") or ""

    def change(old: JsonObject, record: Record) -> JsonObject:
        validate_preconditions(sent, old, record, route)
        return body

    return await change_object(context, request, route, user, options, change, warnings, retries=stated in ("", "0"))

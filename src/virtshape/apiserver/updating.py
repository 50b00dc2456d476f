"""Update: replace an object or its status, if the client's resourceVersion is current."""

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.metadata import validate_address
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.bodies import read_object
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.objects import metadata_of
from virtshape.apiserver.resource import resource_of
from virtshape.apiserver.route import Route
from virtshape.apiserver.writeoptions import read_write_options
from virtshape.apiserver.writing import WriteContext, change_object, conflict, validate_resource_version
from virtshape.store.record import Record


async def update_object(context: WriteContext, request: Request, route: Route, user: User) -> Response:
    """Replace an object or its status."""
    if not route.name:
        raise StatusError(400, "BadRequest", "name must be provided")
    options = read_write_options(request, "UpdateOptions")
    body, warnings = read_object(request, route.kind, options.validation)
    sent = metadata_of(body)
    validate_address(sent, name=route.name, namespace=route.namespace)
    stated = sent.get("resourceVersion") or ""

    def change(old: JsonObject, record: Record) -> JsonObject:
        _validate_preconditions(sent, old, record, route)
        return body

    return await change_object(context, request, route, user, options, change, warnings, retries=stated in ("", "0"))


def _validate_preconditions(sent: JsonObject, old: JsonObject, record: Record, route: Route) -> None:
    """Raise StatusError if the UID or resourceVersion in the body is not that of the stored object."""
    resource = resource_of(route.kind)
    uid, there = sent.get("uid"), metadata_of(old).get("uid")
    if uid and uid != there:
        message = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {there}"
        raise conflict(resource, route.name, message)
    validate_resource_version(sent.get("resourceVersion") or "", record, resource)

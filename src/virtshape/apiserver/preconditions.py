"""Preconditions of writes: check the UID and resourceVersion that a client expects against the stored object."""

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.metadata import allows_blind_update
from virtshape.api.validation.violation import invalid_error, invalid_value
from virtshape.apiserver.listoptions import find_revision_problem
from virtshape.apiserver.objectmetadata import metadata_of
from virtshape.apiserver.resource import Resource, resource_of
from virtshape.apiserver.route import Route
from virtshape.store.record import Record


def validate_preconditions(sent: JsonObject, old: JsonObject, record: Record, route: Route) -> None:
    """Raise StatusError if the UID or resourceVersion in the body is not that of the stored object."""
    resource = resource_of(route.kind)
    uid, there = sent.get("uid"), metadata_of(old).get("uid")
    if uid and uid != there:
        message = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {there}"
        raise conflict(resource, route.name, message)
    validate_resource_version(sent.get("resourceVersion") or "", record, resource)


def validate_resource_version(stated: str, record: Record, resource: Resource) -> None:
    """Raise StatusError if a resourceVersion is not current; some kinds also accept an empty version or zero."""
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

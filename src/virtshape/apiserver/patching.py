"""Patch: change an object by a JSON patch, merge patch, strategic merge patch or server-side apply."""

from collections.abc import Callable
from typing import Any, Final

from virtshape.api.kinds import Kind
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.metadata import validate_address
from virtshape.api.wellknown import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from virtshape.apiserver.applying import apply_object
from virtshape.apiserver.auth.authentication import User
from virtshape.apiserver.bodies import media_type_error, read_json, with_type
from virtshape.apiserver.encoding.negotiation import media_type
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.objectmetadata import metadata_of
from virtshape.apiserver.patches.jsonpatch import patch_json
from virtshape.apiserver.patches.mergepatch import patch_merge
from virtshape.apiserver.patches.strategic import patch_strategic
from virtshape.apiserver.preconditions import validate_resource_version
from virtshape.apiserver.resource import Resource, resource_of
from virtshape.apiserver.route import Route
from virtshape.apiserver.routeerrors import unsupported_patch_error
from virtshape.apiserver.validation.strictness import admit_fields, check_patch_text, limit_warnings
from virtshape.apiserver.writeoptions import read_write_options
from virtshape.apiserver.writing import WriteContext, change_object
from virtshape.store.record import Record

_PATCHERS: Final[dict[str, Callable[[JsonObject, Any, Kind], JsonObject]]] = {
    JSON_PATCH: lambda old, patch, _: patch_json(old, patch),
    MERGE_PATCH: lambda old, patch, _: patch_merge(old, patch),
    STRATEGIC_PATCH: lambda old, patch, kind: patch_strategic(old, patch, kind.struct),
}


async def patch_object(context: WriteContext, request: Request, route: Route, user: User) -> Response:
    """Change an object with a patch or a server-side apply; return the response."""
    if not route.name:
        raise StatusError(400, "BadRequest", "name must be provided")
    resource = resource_of(route.kind)
    media = media_type(request.headers.get("content-type", ""))
    accepted = _list_accepted(resource)
    if media not in accepted:
        raise unsupported_patch_error() if not resource.custom else media_type_error(", ".join(accepted))
    options = read_write_options(request, "PatchOptions")
    if media == APPLY_PATCH:
        return await apply_object(context, request, route, user, options)
    patch = read_json(request.body)
    problems = check_patch_text(request.body, patch, media == JSON_PATCH, options.validation)
    warnings = list(problems)

    def change(old: JsonObject, record: Record) -> JsonObject:
        patched = _PATCHERS[media](old, patch, route.kind)
        if patched is old:
            return old
        patched = with_type(patched, route.kind, patching=True)
        admitted, found = admit_fields(patched, None, route.kind, options.validation, patching=True)
        warnings[:] = limit_warnings([*problems, *found])
        stated = metadata_of(admitted)
        validate_address(stated, name=route.name, namespace=route.namespace)
        validate_resource_version(stated.get("resourceVersion") or "", record, resource)
        return admitted

    return await change_object(context, request, route, user, options, change, warnings, retries=True)


def _list_accepted(resource: Resource) -> list[str]:
    """Return the content types of patches that the resource accepts; custom resources have no strategic merge patch."""
    return [media for media in (*_PATCHERS, APPLY_PATCH) if media != STRATEGIC_PATCH or not resource.custom]

"""Server-side apply: a part of an object, merged with what others say of it or made into a new one."""

from virtshape.api.status import StatusError
from virtshape.apiserver.access.authentication import User
from virtshape.apiserver.answers import answer_bytes
from virtshape.apiserver.bodies import read_yaml
from virtshape.apiserver.fields.fieldtypes import object_type
from virtshape.apiserver.fields.ssa import apply, check_apply_body
from virtshape.apiserver.forms.negotiation import choose_form
from virtshape.apiserver.message import Request, Response
from virtshape.apiserver.objects import Tree, begin, metadata_of
from virtshape.apiserver.reading import not_found, render_object
from virtshape.apiserver.resource import resource_of
from virtshape.apiserver.route import Route
from virtshape.apiserver.validity.metadata import check_address
from virtshape.apiserver.validity.strictness import admit_fields, check_part
from virtshape.apiserver.writeoptions import WriteOptions
from virtshape.apiserver.writing import Desk, authorship_of, change_object, conflict, store_new
from virtshape.store.record import Record


async def apply_object(desk: Desk, request: Request, route: Route, user: User, options: WriteOptions) -> Response:
    """Apply the object in the body."""
    applied = read_yaml(request.body)
    _check_head(applied)
    check_apply_body(applied, route.kind)
    check_address(metadata_of(applied), name=route.name, namespace=route.namespace)
    check_part(applied, route.kind)
    resource = resource_of(route.kind)
    if desk.store.get(resource.key(route.namespace, route.name)) is None:
        created = await _create(desk, request, route, user, applied, options)
        if created is not None:
            return created
    stated = metadata_of(applied).get("resourceVersion") or ""
    authorship = authorship_of(route, options)

    def change(old: Tree, record: Record) -> Tree:
        if stated and stated != str(record.revision):
            raise conflict(resource, route.name)
        merged = apply(old, applied, authorship, object_type(route.kind), force=options.force)
        admitted, _ = admit_fields(merged, None, route.kind, "Ignore", patching=True)
        return admitted

    return await change_object(desk, request, route, user, options, change, [], retries=True, applying=True)


async def _create(
    desk: Desk, request: Request, route: Route, user: User, applied: Tree, options: WriteOptions
) -> Response | None:
    """The answer to an apply that makes the object; None if somebody else makes it first."""
    form = choose_form(request.headers.get("accept", ""))
    resource = resource_of(route.kind)
    if route.subresource:
        raise not_found(resource, route.name)
    made = apply(None, applied, authorship_of(route, options), object_type(route.kind), force=options.force)
    entries = metadata_of(made).get("managedFields") or []
    admitted, warnings = admit_fields(made, None, route.kind, "Ignore", patching=True)
    new = begin(resource, admitted, route.namespace, route.name, options.now)
    record, more = await store_new(desk, route, user, new, options, lambda _: entries)
    if record is None:
        return None
    return answer_bytes(request, form, render_object(resource, form, record, request), 201, warnings + more)


def _check_head(applied: Tree) -> None:
    """Refuse what says in no readable way which object it is about."""
    for field, wanted in (("apiVersion", str), ("kind", str), ("metadata", dict)):
        if not isinstance(applied.get(field), wanted | None):
            raise StatusError(400, "BadRequest", f"error decoding patch: {field} is not what it should be")

"""
The operations of a kind: paths, methods, parameters, request and response schemas.

The operations do not depend on the OpenAPI version.
"""

from collections.abc import Iterator
from typing import NamedTuple

from virtshape.api.kinds import Kind, is_custom_resource
from virtshape.api.openapi import component_name, struct_name
from virtshape.api.status import Status
from virtshape.api.wellknown import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from virtshape.apiserver.discovery.discovery import group_path
from virtshape.apiserver.supportedverbs import list_subresources, list_verbs


class Parameter(NamedTuple):
    """A path or query parameter."""

    name: str
    type: str
    description: str
    place: str = "query"


class Operation(NamedTuple):
    """One operation. `request` and `response` are names of schemas; an empty `request` means any object."""

    path: str
    method: str
    action: str
    id: str
    description: str
    where: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]
    consumes: tuple[str, ...]
    request: str
    response: str


CONNECT = "connect"
"""The action of operations that neither read nor change stored objects."""

NAMESPACE = Parameter("namespace", "string", "Namespace of the objects.", "path")
NAME = Parameter("name", "string", "Name of the object.", "path")
_PRETTY = Parameter("pretty", "string", "`true` to indent a JSON response.")
_DRY_RUN = Parameter("dryRun", "string", "`All` for a dry run: process the request without storing it.")
_MANAGER = Parameter("fieldManager", "string", "The manager that owns the written fields.")
_VALIDATION = Parameter(
    "fieldValidation", "string", "How to handle unknown and duplicate fields: `Ignore`, `Warn` (default) or `Strict`."
)
_FORCE = Parameter("force", "boolean", "For an apply: take over fields from other managers.")
_WRITE = (_DRY_RUN, _MANAGER, _VALIDATION)
_VERSION = Parameter("resourceVersion", "string", "The revision to read from; the newest if absent.")
_DELETE = (
    _DRY_RUN,
    Parameter("gracePeriodSeconds", "integer", "Seconds before the object is deleted; 0 for immediate deletion."),
    Parameter(
        "ignoreStoreReadErrorWithClusterBreakingPotential", "boolean", "Accepted for compatibility; has no effect."
    ),
    Parameter("orphanDependents", "boolean", "Deprecated in favour of `propagationPolicy`."),
    Parameter("propagationPolicy", "string", "How to handle dependents: `Orphan`, `Background` or `Foreground`."),
)
_SELECT = (
    Parameter("continue", "string", "The continue token of the previous page."),
    Parameter("fieldSelector", "string", "Selects objects by fields."),
    Parameter("labelSelector", "string", "Selects objects by labels."),
    Parameter("limit", "integer", "Maximum number of objects."),
    _VERSION,
    Parameter(
        "resourceVersionMatch", "string", "How `resourceVersion` selects the revision: `Exact` or `NotOlderThan`."
    ),
    Parameter("sendInitialEvents", "boolean", "Start a watch with the existing objects and a bookmark."),
    Parameter("timeoutSeconds", "integer", "Timeout of the response."),
)
_LIST = (
    Parameter("allowWatchBookmarks", "boolean", "Send bookmark events in a watch."),
    *_SELECT,
    Parameter("watch", "boolean", "Stream changes as they happen."),
)

_BODY = ("application/json", "application/yaml")
_PATCHES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
_STATUS = struct_name(Status)


def list_operations(kind: Kind) -> Iterator[Operation]:
    """Yield the operations of a kind and its subresources, grouped by path."""
    writer = _Writer(kind)
    yield from writer.list_on_collection()
    yield from writer.list_on_object(list_verbs(kind))
    for subresource in list_subresources(kind):
        if (subresource.group, subresource.kind) == (kind.group, kind.kind):
            yield from writer.list_on_object(subresource.verbs, subresource.name)
    if kind.namespaced and "list" in list_verbs(kind):
        yield writer.list_everywhere()


class _Writer:
    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.schema = component_name(kind)
        self.root = group_path(kind.group, kind.version)
        self.group = name_group(kind) + kind.version.capitalize()
        self.scope = "Namespaced" if kind.namespaced else ""

    def list_on_collection(self) -> Iterator[Operation]:
        verbs, kind = list_verbs(self.kind), self.kind.kind
        if "list" in verbs:
            yield self._collect("get", "list", f"List or watch objects of kind {kind}.", _LIST)
        if "create" in verbs:
            yield self._collect("post", "create", f"Create an object of kind {kind}.", _WRITE)
        if "deletecollection" in verbs:
            text = f"Delete all selected objects of kind {kind}."
            yield self._collect("delete", "deletecollection", text, (*_DELETE, *_SELECT))

    def list_on_object(self, verbs: tuple[str, ...], subresource: str = "") -> Iterator[Operation]:
        what = f"the {subresource} of an object of kind" if subresource else "an object of kind"
        what = f"{what} {self.kind.kind}"
        if "get" in verbs:
            yield self._single("get", "read", f"Read {what}.", (_VERSION,), subresource)
        if "update" in verbs:
            yield self._single("put", "replace", f"Replace {what}.", _WRITE, subresource)
        if "delete" in verbs:
            yield self._single("delete", "delete", f"Delete {what}.", _DELETE, subresource)
        if "patch" in verbs:
            yield self._single("patch", "patch", f"Update {what} partially.", (*_WRITE, _FORCE), subresource)

    def list_everywhere(self) -> Operation:
        path = f"{self.root}/{self.kind.plural}"
        text = f"List or watch objects of kind {self.kind.kind} in all namespaces."
        name = f"list{self.group}{self.kind.kind}ForAllNamespaces"
        return Operation(path, "get", "list", name, text, (_PRETTY,), _LIST, (), "", f"{self.schema}List")

    def _collect(self, method: str, word: str, text: str, parameters: tuple[Parameter, ...]) -> Operation:
        action = "post" if word == "create" else word
        collection = "Collection" if word == "deletecollection" else ""
        name = f"{word.removesuffix('collection')}{self.group}{collection}{self.scope}{self.kind.kind}"
        response = {"list": f"{self.schema}List", "create": self.schema}.get(word, _STATUS)
        return Operation(
            path=self._collection_path(),
            method=method,
            action=action,
            id=name,
            description=text,
            where=self._where(),
            parameters=parameters,
            consumes=() if method == "get" else _BODY,
            request=self.schema if method == "post" else "",
            response=response,
        )

    def _single(
        self, method: str, word: str, text: str, parameters: tuple[Parameter, ...], subresource: str
    ) -> Operation:
        return Operation(
            path=f"{self._collection_path()}/{{name}}" + (f"/{subresource}" if subresource else ""),
            method=method,
            action=method,
            id=f"{word}{self.group}{self.scope}{self.kind.kind}{subresource.capitalize()}",
            description=text,
            where=(NAME, *self._where()),
            parameters=parameters,
            consumes=self._list_consumed(method),
            request=self.schema if method == "put" else "",
            response=_STATUS if method == "delete" else self.schema,
        )

    def _list_consumed(self, method: str) -> tuple[str, ...]:
        match method:
            case "get":
                return ()
            case "patch":
                return _PATCHES if is_custom_resource(self.kind) else (*_PATCHES, STRATEGIC_PATCH)
            case _:
                return _BODY

    def _collection_path(self) -> str:
        scope = "/namespaces/{namespace}" if self.kind.namespaced else ""
        return f"{self.root}{scope}/{self.kind.plural}"

    def _where(self) -> tuple[Parameter, ...]:
        return (NAMESPACE, _PRETTY) if self.kind.namespaced else (_PRETTY,)


def name_group(kind: Kind) -> str:
    """Return the group of a kind in the form used in operation IDs, such as `InstancetypeKubevirtIo`."""
    group = kind.group if is_custom_resource(kind) else kind.group.removesuffix(".k8s.io")
    return "".join(part.capitalize() for part in group.split(".")) or "Core"

"""Routes: determine the kind, namespace, name, subresource and verb of a request from its path and method."""

from typing import Final, Literal

from msgspec import Struct

from virtshape.api.kinds import Kind, find_resource, is_custom_resource
from virtshape.apiserver.message import Request
from virtshape.apiserver.supportedverbs import is_create_only

Verb = Literal["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]

_VERBS: Final[dict[tuple[str, bool], Verb]] = {
    ("GET", True): "get",
    ("HEAD", True): "get",
    ("GET", False): "list",
    ("HEAD", False): "list",
    ("POST", True): "create",
    ("POST", False): "create",
    ("PUT", True): "update",
    ("PUT", False): "update",
    ("PATCH", True): "patch",
    ("PATCH", False): "patch",
    ("DELETE", True): "delete",
    ("DELETE", False): "deletecollection",
}


# The verbs of built-in kinds; requests with other methods are rejected before authorization.
_BUILTIN_VERBS: Final[dict[tuple[str, bool], Verb]] = {
    (method, named): verb
    for (method, named), verb in _VERBS.items()
    if method != "HEAD" and (method, named) not in (("POST", True), ("PUT", False), ("PATCH", False))
}


class Route(Struct, frozen=True):
    """A resource of the API and the verb of the request; `verb` is None for an unsupported method."""

    verb: Verb | None
    kind: Kind
    namespace: str
    name: str
    subresource: str

    @property
    def resource(self) -> str:
        """The plural name and the API group, such as `virtualmachines.kubevirt.io`, as in messages and storage keys."""
        return f"{self.kind.plural}.{self.kind.group}" if self.kind.group else self.kind.plural


def find_route(request: Request) -> Route | None:
    """Return the route of a request, or None if the path is not that of a resource."""
    parts = request.path.strip("/").split("/")
    if not all(parts):
        return None
    match parts:
        case ["api", version, *rest]:
            group = ""
        case ["apis", group, version, *rest]:
            pass
        case _:
            return None
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces" and find_resource(group, version, rest[2]) is not None:
        _, namespace, *rest = rest
    kind = find_resource(group, version, rest[0]) if rest else None
    if kind is None or (namespace and not kind.namespaced):
        return None
    name, *below = [*rest[1:], ""]
    subresource = "/".join(below[:-1])
    if not is_custom_resource(kind):
        return _find_builtin_route(request, kind, namespace, name, subresource)
    verb = _VERBS.get((request.method, bool(name)))
    if kind.namespaced and not namespace and verb != "list":
        return None
    if verb == "list" and request.flag("watch"):
        verb = "watch"
    return Route(verb, kind, namespace, name, subresource)


def _find_builtin_route(request: Request, kind: Kind, namespace: str, name: str, subresource: str) -> Route | None:
    anywhere = kind.namespaced and not namespace
    if "/" in subresource or (name and (anywhere or is_create_only(kind))):
        return None
    verbs = _VERBS if subresource and request.method == "POST" else _BUILTIN_VERBS
    verb = verbs.get((request.method, bool(name)))
    if anywhere and verb != "list":
        verb = None
    if verb == "list" and request.flag("watch"):
        verb = "watch"
    return Route(verb, kind, namespace, name, subresource)

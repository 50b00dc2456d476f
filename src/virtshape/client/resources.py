"""Kinds and metadata of structs, and the request paths of objects."""

from collections.abc import Mapping
from functools import cache, lru_cache
from urllib.parse import quote, urlencode

from virtshape.api.kinds import KINDS, Kind, find_kind
from virtshape.api.meta import NO_METADATA, ObjectMeta
from virtshape.api.model import Model

_API = "virtshape.api."


@cache
def kind_of(struct: type[Model]) -> Kind:
    """Return the kind of a struct, in its preferred version; raise TypeError if the struct is not a kind."""
    path = f"{struct.__module__.removeprefix(_API)}:{struct.__name__}"
    try:
        return next(kind for kind in KINDS if kind.struct_path == path)
    except StopIteration:
        raise TypeError(f"{struct.__name__} is not a kind of the API") from None


def format_resource(struct: type[Model]) -> str:
    """Return the name of a struct's resource with its group, such as `virtualmachines.kubevirt.io`."""
    kind = kind_of(struct)
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def stated_kind(item: Model) -> Kind:
    """Return the kind from an object's apiVersion and kind; if that kind is unknown, the kind of its struct."""
    kind = find_kind(getattr(item, "api_version", ""), getattr(item, "kind", ""))
    return kind if kind is not None else kind_of(type(item))


def metadata_of(item: Model) -> ObjectMeta:
    """Return an object's metadata; raise TypeError if the object has no metadata."""
    metadata = getattr(item, "metadata", None)
    if not isinstance(metadata, ObjectMeta) or metadata is NO_METADATA:
        raise TypeError(f"{type(item).__name__} has no metadata")
    return metadata


def format_target(
    kind: Kind, namespace: str = "", name: str = "", subresource: str = "", query: Mapping[str, str] | None = None
) -> str:
    """Return the path and query for an object, or for a kind in one or all namespaces; omit empty parameters."""
    parts = ["/apis", kind.group, kind.version] if kind.group else ["/api", kind.version]
    if namespace and kind.namespaced:
        parts += ["namespaces", quote(namespace, safe="")]
    parts.append(kind.plural)
    if name:
        parts.append(quote(name, safe=":"))
    if subresource:
        parts.append(subresource)
    return "/".join(parts) + (_format_query(tuple(query.items())) if query else "")


@lru_cache(maxsize=256)
def _format_query(query: tuple[tuple[str, str], ...]) -> str:
    given = [(key, value) for key, value in query if value]
    return f"?{urlencode(given)}" if given else ""

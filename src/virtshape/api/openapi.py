"""
Named schemas of the kinds for OpenAPI v3 and v2 documents, which `kubectl explain` and client generators read.

A kind's metadata and the structs below its spec and status are references to other named schemas.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from msgspec import Struct, inspect

from virtshape.api.meta import ListMeta
from virtshape.api.model import JsonObject
from virtshape.api.schema import WriteStruct, inspect_struct, write_kind, write_struct

_IN_V3 = "#/components/schemas/"
_IN_V2 = "#/definitions/"

# Prefixes of schema names, by package; all other packages are Kubernetes groups in version v1.
_NAMES = {
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
    "cdi": "io.kubevirt.cdi.v1beta1",
    "deployment": "io.k8s.api.apps.v1",
    "flavor": "io.kubevirt.flavor.v1alpha1",
    "instancetype": "io.kubevirt.instancetype.v1beta2",
    "instancetype.v1beta1": "io.kubevirt.instancetype.v1beta1",
    "kubevirt": "io.kubevirt.v1",
    "meta": "io.k8s.apimachinery.pkg.apis.meta.v1",
    "snapshot": "io.k8s.storage.snapshot.v1",
    "status": "io.k8s.apimachinery.pkg.apis.meta.v1",
    "virtshape": "io.virtshape.v1",  # for structs outside the package `api`
}


class ServedKind(Protocol):
    """A kind in one version."""

    @property
    def group(self) -> str:
        """The API group; empty for the core group."""

    @property
    def version(self) -> str:
        """The version of the group."""

    @property
    def kind(self) -> str:
        """The name of the kind."""

    @property
    def struct(self) -> type[Struct]:
        """The struct of the kind in this version."""


def write_components(kinds: Iterable[ServedKind], others: Iterable[type[Struct]] = ()) -> dict[str, JsonObject]:
    """Return the schemas for an OpenAPI v3 document: kinds, their lists, other structs and all referenced structs."""
    kinds = list(kinds)
    components: dict[str, JsonObject] = {}
    named = {component_name(kind): kind.struct for kind in kinds}

    def refer(struct: inspect.StructType) -> JsonObject:
        name = struct_name(struct.cls)
        if name not in named:
            named[name] = struct.cls  # set before `write_struct` is called, because a struct may contain itself
            components[name] = write_struct(struct, refer)
        if named[name] is not struct.cls:
            raise ValueError(f"{named[name]} and {struct.cls} would both be called {name}")
        return _refer_to(name)

    for kind in kinds:
        name = component_name(kind)
        components[name] = _write_served(kind, refer)
        components[f"{name}List"] = _write_list(kind, refer)
    for struct in others:
        refer(inspect_struct(struct))
    return components


def write_definitions(kinds: Iterable[ServedKind], others: Iterable[type[Struct]] = ()) -> dict[str, JsonObject]:
    """Return the schemas for an OpenAPI v2 document, without `anyOf`, which v2 does not support."""
    return {name: _as_v2(schema) for name, schema in write_components(kinds, others).items()}


def component_name(kind: ServedKind) -> str:
    """Return the schema name of a kind, such as `io.kubevirt.v1.VirtualMachine`."""
    return f"{_package_name(kind.struct).rpartition('.')[0]}.{kind.version}.{kind.kind}"


def struct_name(struct: type[Struct]) -> str:
    """Return the schema name of a struct that is not a kind, such as `io.k8s.apimachinery.pkg.apis.meta.v1.Status`."""
    return f"{_package_name(struct)}.{struct.__name__}"


def _package_name(struct: type[Struct]) -> str:
    module = struct.__module__.removeprefix("virtshape.api.")
    package = module.partition(".")[0]
    return _NAMES.get(module) or _NAMES.get(package) or f"io.k8s.api.{package}.v1"


def _write_served(kind: ServedKind, refer: WriteStruct) -> JsonObject:
    # Clients look for required fields directly in the schema of a kind, so its spec and status are inlined.
    in_place = {part.cls for part in _find_parts(kind.struct)}
    schema = write_kind(
        kind.struct, lambda nested: write_struct(nested, refer) if nested.cls in in_place else refer(nested)
    )
    return schema | _kind_extension(kind, kind.kind)


def _find_parts(struct: type[Struct]) -> Iterator[inspect.StructType]:
    for field in inspect_struct(struct).fields:
        if field.encode_name in ("spec", "status"):
            types = field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,)
            yield from (type_ for type_ in types if isinstance(type_, inspect.StructType))


def _write_list(kind: ServedKind, refer: WriteStruct) -> JsonObject:
    return {
        "description": f"Objects of kind {kind.kind}.",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string", "description": "The group and version of this list."},
            "kind": {"type": "string", "description": f"`{kind.kind}List`."},
            "metadata": refer(inspect_struct(ListMeta)) | {"description": "Standard list metadata."},
            "items": {"type": "array", "items": _refer_to(component_name(kind)), "description": "The objects."},
        },
    } | _kind_extension(kind, f"{kind.kind}List")


def _kind_extension(kind: ServedKind, name: str) -> JsonObject:
    return {"x-kubernetes-group-version-kind": [{"group": kind.group, "version": kind.version, "kind": name}]}


def _refer_to(name: str) -> JsonObject:
    return {"allOf": [{"$ref": f"{_IN_V3}{name}"}]}  # a bare $ref cannot have a description


def _as_v2(node: Any) -> Any:
    match node:
        case {"allOf": [{"$ref": str(target)}], **rest}:
            return rest | {"$ref": target.replace(_IN_V3, _IN_V2)}
        case {"x-kubernetes-int-or-string": True, "anyOf": _, **rest}:
            return rest
        case dict():
            return {key: _as_v2(value) for key, value in node.items()}
        case list():
            return [_as_v2(value) for value in node]
        case _:
            return node

"""
CustomResourceDefinitions, generated from the structs and table columns of custom resources.

This server serves the definitions read-only. Users can apply them to another cluster.
"""

from uuid import UUID, uuid5

from virtshape.api.kinds import KINDS, Kind, is_custom_resource
from virtshape.api.model import JsonObject
from virtshape.api.schema import structural_schema
from virtshape.apiserver.encoding.columns import list_columns
from virtshape.apiserver.encoding.columns.column import Column
from virtshape.apiserver.supportedverbs import find_deprecation, list_subresources

_UIDS = UUID("6f0b7d2c-0d3a-5a54-9e0f-0a4a6d1f7c11")


def list_definitions() -> list[str]:
    """Return the names of all definitions, sorted."""
    return sorted({_name(kind) for kind in KINDS if is_custom_resource(kind)})


def write_definition(name: str) -> JsonObject:
    """Return the CustomResourceDefinition with this name, as a manifest that can be applied."""
    kinds = [kind for kind in KINDS if is_custom_resource(kind) and _name(kind) == name]
    preferred = kinds[0]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": preferred.group,
            "names": _write_names(preferred),
            "scope": "Namespaced" if preferred.namespaced else "Cluster",
            "versions": [_write_version(kind, is_stored=kind is preferred) for kind in kinds],
            "conversion": {"strategy": "None"},
        },
    }


def write_served_definition(name: str, created: str) -> JsonObject:
    """Return the definition as this server serves it: with this creation time, and without resourceVersion."""
    tree = write_definition(name)
    spec = tree["spec"]
    tree["metadata"] |= {"uid": str(uuid5(_UIDS, name)), "generation": 1, "creationTimestamp": created}
    tree["status"] = {
        "acceptedNames": spec["names"],
        "conditions": [
            _write_condition("NamesAccepted", "NoConflicts", "no conflicts found", created),
            _write_condition("Established", "InitialNamesAccepted", "the names have been accepted", created),
        ],
        "storedVersions": [version["name"] for version in spec["versions"] if version["storage"]],
    }
    return tree


def _name(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}"


def _write_names(kind: Kind) -> JsonObject:
    names: JsonObject = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.singular,
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    if kind.categories:
        names["categories"] = list(kind.categories)
    return names


def _write_version(kind: Kind, *, is_stored: bool) -> JsonObject:
    version: JsonObject = {"name": kind.version, "served": True, "storage": is_stored}
    if warning := find_deprecation(kind):
        version |= {"deprecated": True, "deprecationWarning": warning}
    version["schema"] = {"openAPIV3Schema": structural_schema(kind.struct)}
    if any(subresource.name == "status" for subresource in list_subresources(kind)):
        version["subresources"] = {"status": {}}
    # The first column is the name, which the API server adds to every custom resource.
    version["additionalPrinterColumns"] = [_write_column(column) for column in list_columns(kind)[1:]]
    return version


def _write_column(column: Column) -> JsonObject:
    path = column.json_path or column.paths[0]
    written = {"name": column.name, "type": column.type, "jsonPath": path, "description": column.description}
    # The API server drops a priority of 0, so kubectl would report a change on every apply.
    return written | ({"priority": column.priority} if column.priority else {})


def _write_condition(type_: str, reason: str, message: str, since: str) -> JsonObject:
    return {"type": type_, "status": "True", "lastTransitionTime": since, "reason": reason, "message": message}

"""
Merge rules in OpenAPI documents: patch strategies and list types of built-in kinds.

Clients build patches with these rules, so the documents must contain the rules that the server applies.
"""

from virtshape.api.model import JsonObject
from virtshape.apiserver.managedfields.listtypes import ATOMIC_FIELDS, ATOMIC_STRUCTS, MERGED_LISTS
from virtshape.apiserver.patches.mergekeys import STRATEGIES, Strategy

_KUBERNETES = "io.k8s."
_ATOMIC = {"x-kubernetes-map-type": "atomic"}


def apply_merge_rules(schemas: dict[str, JsonObject]) -> None:
    """Add the merge rules to the schemas of built-in structs, in place."""
    for name, schema in schemas.items():
        if not name.startswith(_KUBERNETES):
            continue
        struct = name.rpartition(".")[2]
        if struct in ATOMIC_STRUCTS:
            schema.update(_ATOMIC)
        _apply_to_struct(struct, schema)
        for part in ("spec", "status"):  # these structs are inlined in the schema of their kind
            _apply_to_struct(f"{struct}{part.capitalize()}", schema.get("properties", {}).get(part, {}))


def _apply_to_struct(struct: str, schema: JsonObject) -> None:
    properties = schema.get("properties", {})
    for field, keys in MERGED_LISTS.get(struct, {}).items():
        if field in properties:
            properties[field] |= _write_list_type(keys)
    for field, strategy in STRATEGIES.get(struct, {}).items():
        if field in properties:
            properties[field] |= _write_strategy(strategy)
    for owner, field in ATOMIC_FIELDS:
        if owner == struct and field in properties:
            properties[field] |= _ATOMIC


def _write_list_type(keys: tuple[str, ...]) -> JsonObject:
    if not keys:
        return {"x-kubernetes-list-type": "set"}
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


def _write_strategy(strategy: Strategy) -> JsonObject:
    written = {"x-kubernetes-patch-strategy": strategy.name}
    return written | ({"x-kubernetes-patch-merge-key": strategy.key} if strategy.key else {})

"""
JSON merge patch (RFC 7386): a partial object in which null removes a member.

Arguments are not modified; results share unchanged values with the arguments.
"""

from virtshape.api.model import JsonObject
from virtshape.api.validation.violation import patch_type_error


def patch_merge(tree: JsonObject, patch: object) -> JsonObject:
    """Return the object with the patch merged into it; return the same object if nothing changes."""
    return _merge(tree, read_partial(patch))


def read_partial(patch: object) -> JsonObject:
    """Return the patch; raise StatusError if the patch is not an object."""
    if not isinstance(patch, dict):
        raise patch_type_error(patch, "an object")
    return patch


def _merge(tree: JsonObject, patch: JsonObject) -> JsonObject:
    merged = tree
    for key, change in patch.items():
        old = tree.get(key)
        if change is None:
            if key not in tree:
                continue
            if merged is tree:
                merged = tree.copy()
            del merged[key]
            continue
        new = _merge(old if isinstance(old, dict) else {}, change) if isinstance(change, dict) else change
        # Lists are not compared, because that can cost as much as replacing them.
        if new is old or (type(new) is type(old) and not isinstance(new, list | dict) and new == old):
            continue
        if merged is tree:
            merged = tree.copy()
        merged[key] = new
    return merged

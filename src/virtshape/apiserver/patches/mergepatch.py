"""
JSON merge patch (RFC 7386): a partial object in which null removes a member.

Arguments are not modified; unchanged parts are shared.
"""

from virtshape.api.model import JsonObject
from virtshape.api.validation.violation import patch_type_error


def patch_merge(tree: JsonObject, patch: object) -> JsonObject:
    """Return the tree with the patch merged into it; return the same tree if nothing changes."""
    return _merge(tree, read_partial(patch))


def read_partial(patch: object) -> JsonObject:
    """Return the patch; raise StatusError if it is not an object."""
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
        # Comparing lists can cost as much as replacing them.
        if new is old or (type(new) is type(old) and not isinstance(new, list | dict) and new == old):
            continue
        if merged is tree:
            merged = tree.copy()
        merged[key] = new
    return merged

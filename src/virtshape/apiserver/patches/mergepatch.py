"""
JSON merge patch (RFC 7386): a partial object whose nulls remove.

Copies what lies on the way to a change and shares all else with its inputs, which it never changes.
"""

from typing import Any

from virtshape.apiserver.validation.violation import refuse_patch

Tree = dict[str, Any]


def patch_merge(tree: Tree, patch: object) -> Tree:
    """The tree with the patch merged in; the very same tree if that changes nothing."""
    return _merge(tree, read_partial(patch))


def read_partial(patch: object) -> Tree:
    """The patch if it is an object, as a partial object must be; refused otherwise."""
    if not isinstance(patch, dict):
        raise refuse_patch(patch, "an object")
    return patch


def _merge(tree: Tree, patch: Tree) -> Tree:
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
        # Lists are not compared: that may cost as much as taking the new one.
        if new is old or (type(new) is type(old) and not isinstance(new, list | dict) and new == old):
            continue
        if merged is tree:
            merged = tree.copy()
        merged[key] = new
    return merged

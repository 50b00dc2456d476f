"""API objects of any kind from plain dicts."""

from virtshape.api.codec import from_tree, get_struct
from virtshape.api.model import JsonObject, Model


def object_from_tree(tree: JsonObject) -> Model:
    """Convert a dict to an object of the kind in its `apiVersion` and `kind`."""
    return from_tree(tree, get_struct(tree))

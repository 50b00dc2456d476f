"""
The built-in instance types and preferences.

Names and figures are those of the common KubeVirt catalogue; the texts are its own.
"""

from virtshape.catalog.loader import CatalogObject, find, load, names

__all__ = ["CatalogObject", "find", "load", "names"]

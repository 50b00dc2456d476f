"""The built-in instance types and preferences, with names and sizes of KubeVirt's common catalogue."""

from virtshape.catalog.loader import CatalogObject, find, load, names

__all__ = ["CatalogObject", "find", "load", "names"]
